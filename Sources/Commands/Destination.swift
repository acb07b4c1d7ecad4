/// Scheme, host and port that a command talks to: the unit of network control. Empty for a command that uses
/// no network.
///
/// In place of an optional destination write `Destination.none` in full, because `.none` there means nil.
public struct Destination: Hashable, Sendable {
    /// `scheme://host:port` in lower case, always with a port; `file://localhost` and a mount point for
    /// files; or empty.
    public let text: String

    package init(unchecked text: String) { self.text = text }

    /// The destination of a command that uses no network, such as a `noop`. Its text is empty.
    public static let none = Destination(unchecked: "")

    /// Local files of the root file system, and `file:` URLs whose file system is not known.
    public static let file = Destination(unchecked: "file://localhost")

    /// Local files of one file system. Each file system is a destination of its own, because it can be slow
    /// or hang alone.
    /// - Parameter mountPoint: an absolute path. Bytes that a URL may not hold are percent-encoded.
    package static func file(mountPoint: String) -> Destination {
        mountPoint == "/" ? .file : Destination(unchecked: file.text + mountPoint.percentEncodedPath)
    }

    /// Whether the destination is a file system of this host.
    package var isFile: Bool { text.hasPrefix(Self.file.text) }

    /// Joins the parts in lower case, without checks; ``init(_:)`` reads and checks a text. For files there
    /// is ``file``.
    /// - Parameters:
    ///   - scheme: `https`, for example, without a colon.
    ///   - host: a name or an address. An IPv6 address without brackets gets them (RFC 3986, section 3.2.2).
    ///   - port: 1…65535, also where it is the default of the scheme.
    public init(scheme: String, host: String, port: Int) {
        let host = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        self.init(unchecked: "\(scheme.lowercased())://\(host.lowercased()):\(port)")
    }

    /// Reads an origin or a URL, and takes scheme, host and port of it.
    ///
    /// A missing port is 80 for http and 443 for https (RFC 9110, sections 4.2.1 and 4.2.2).
    /// `file://localhost` keeps its path, which is a mount point; any other `file:` URL is ``file``.
    /// - Returns: nil where the scheme, the host or the port is missing or malformed. A host is ASCII, and a
    ///   port is 1…65535.
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text[..<colon].utf8.allSatisfy({ $0 < 0x80 })
        else { return nil }
        let scheme = text[..<colon].lowercased()
        guard let first = scheme.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first),
            scheme.utf8.allSatisfy({ $0.isSchemeCharacter })
        else { return nil }
        if scheme == "file" {
            let path = text.hasPrefix(Self.file.text + "/") ? text.dropFirst(Self.file.text.count) : ""
            let isPath = path.utf8.allSatisfy { $0.isPathCharacter || $0 == UInt8(ascii: "%") }
            self = isPath && path.count > 1 ? Destination(unchecked: text) : .file
            return
        }
        let rest = text[colon...].utf8.dropFirst()
        guard rest.starts(with: "//".utf8) else { return nil }
        var bytes = rest.dropFirst(2).prefix { !"/?#".utf8.contains($0) }
        if let at = bytes.lastIndex(of: UInt8(ascii: "@")) { bytes = bytes[at...].dropFirst() }
        // A host is ASCII (RFC 3986); a name in another script travels as xn--….
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        let authority = Substring(bytes)
        let host: Substring
        var port: Substring = ""
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[...end]
            let after = authority[authority.index(after: end)...]
            guard after.isEmpty || after.hasPrefix(":") else { return nil }
            port = after.dropFirst()
        } else if let separator = authority.firstIndex(of: ":") {
            host = authority[..<separator]
            port = authority[authority.index(after: separator)...]
        } else {
            host = authority
        }
        guard !host.isEmpty else { return nil }
        let number: Int
        switch (port.isEmpty, scheme) {
        case (false, _):
            guard port.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let given = Int(port), (1...65_535).contains(given)
            else { return nil }
            number = given
        case (true, "http"): number = 80
        case (true, "https"): number = 443
        default: return nil
        }
        self.init(scheme: scheme, host: String(host), port: number)
    }
}

extension Destination: CustomStringConvertible {
    /// The ``text``, or `none` where it is empty.
    public var description: String { text.isEmpty ? "none" : text }
}

extension UInt8 {
    fileprivate var isSchemeCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: false
        }
    }
}

extension Destination {
    /// Reads an origin as a person configures it: scheme, host and port, and nothing else but a slash at the
    /// end.
    /// - Returns: nil for files, and for a URL with a user, a path, a query or a fragment.
    package init?(origin text: String) {
        guard let range = text.firstRange(of: "//"), let destination = Destination(text), !destination.isFile else {
            return nil
        }
        let rest = text[range.upperBound...]
        guard !rest.contains("@"), rest.dropLast(rest.hasSuffix("/") ? 1 : 0).allSatisfy({ !"/?#".contains($0) })
        else { return nil }
        self = destination
    }
}
