package import Commands
internal import HTTPClient
package import Operations

/// The target of a request: a URL with the scheme `http`, `https` or `file` (RFC 3986).
package struct ResourceURL: Sendable, Equatable {
    package enum Scheme: String, Sendable {
        case http, https, file
    }

    /// Bytes of a URL at most.
    package static let maxBytes = 8 << 10

    package let scheme: Scheme
    /// The part before the path: `https://media.example.com:8443`.
    package let origin: String
    /// Percent-encoded; starts with a slash or is empty.
    package private(set) var path: String
    /// With the question mark, or empty.
    package let query: String
    package let destination: Destination

    /// - Throws: ``PayloadError`` of the kind `usage`.
    package init(_ text: String) throws(PayloadError) {
        func refuse(_ why: String) -> PayloadError {
            PayloadError(.usage, "“\(Self.shown(text))” is not a usable URL: \(why)")
        }

        guard text.utf8.count <= Self.maxBytes else { throw refuse("it has more than \(Self.maxBytes) bytes") }
        guard let colon = text.firstIndex(of: ":"), Self.isScheme(text[..<colon]) else {
            throw refuse("it must start with http://, https:// or file://")
        }
        guard let scheme = Scheme(rawValue: text[..<colon].lowercased()) else {
            throw refuse("the scheme “\(text[..<colon])” is unknown; use http, https or file")
        }
        if let problem = Self.firstProblem(in: text) { throw refuse(problem) }
        guard !text.contains("#") else { throw refuse("a fragment (#) is not sent; leave it out or write %23") }
        var rest = text[text.index(after: colon)...]
        var authority: Substring = ""
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            authority = rest.prefix { $0 != "/" && $0 != "?" }
            rest = rest[authority.endIndex...]
        } else if scheme != .file {
            throw refuse("“//” and a host must follow the scheme")
        }
        guard !authority.contains("@") else {
            throw refuse("it must not contain a user or password; give the destination a credential in sluice.yaml")
        }
        self.scheme = scheme
        path = String(rest.prefix { $0 != "?" })
        query = String(rest[rest.index(rest.startIndex, offsetBy: path.count)...])
        guard !path.contains(where: { $0 == "[" || $0 == "]" }), !query.contains(where: { $0 == "[" || $0 == "]" })
        else {
            throw refuse("a square bracket must be written %5B or %5D")
        }
        if scheme == .file {
            guard authority.isEmpty || authority.lowercased() == "localhost" else {
                throw refuse("“\(authority)” is another host; a file: URL names a file of this one: file:///path")
            }
            guard path.hasPrefix("/") else { throw refuse("the path of a file: URL starts with a slash: file:///path") }
            guard query.isEmpty else { throw refuse("a file: URL has no query; write %3F for a question mark") }
            guard Self.decoded(path) != nil else {
                throw refuse("its path is not valid UTF-8, or contains a zero byte")
            }
            origin = "file://"
            destination = .file
        } else {
            guard let destination = Destination(text), Self.isAuthority(authority) else {
                throw refuse("it has no valid host and port")
            }
            origin = "\(scheme.rawValue)://\(authority)"
            self.destination = destination
        }
    }

    package var text: String { origin + path + query }

    /// The URL in messages, without its query, which often contains a signature.
    package var displayText: String { origin + path }

    /// Whether the URL ends in a slash, so that the name of the file is appended.
    package var isDirectory: Bool { path.hasSuffix("/") }

    /// Appends a name. Every byte except the unreserved ones is percent-encoded.
    package func appending(name: some StringProtocol) -> ResourceURL {
        var copy = self
        for byte in name.utf8 {
            if byte.isUnreserved {
                copy.path.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                copy.path += PercentEncoding.encoded(byte)
            }
        }
        return copy
    }

    /// Appends names with a slash between two of them, as ``appending(name:)`` does with each.
    package func appending(path: String) -> ResourceURL {
        var copy = self
        for (index, name) in path.utf8.split(separator: .slash, omittingEmptySubsequences: false).enumerated() {
            if index > 0 { copy.path += "/" }
            copy = copy.appending(name: Substring(name))
        }
        return copy
    }

    /// The decoded path of a `file:` URL.
    package var filePath: String { Self.decoded(path) ?? path }

    /// An invalid URL in a message: without query, fragment and possible password.
    private static func shown(_ text: String) -> String {
        let start = text.unicodeScalars.prefix { $0 != "?" && $0 != "#" }
        let breaks = "\u{85}\u{2028}\u{2029}".unicodeScalars
        var shown = Array(start.prefix(300).map { $0 < " " || breaks.contains($0) ? "\u{FFFD}" : $0 })
        // A user may be present even without a scheme or slashes.
        let user = shown.firstRange(of: Array("//".unicodeScalars))?.upperBound ?? 0
        if let at = shown[user...].prefix(while: { $0 != "/" }).lastIndex(of: "@") {
            shown.replaceSubrange(user..<at, with: "…".unicodeScalars)
        }
        return String(String.UnicodeScalarView(shown))
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, first.isLetter else { return false }
        return text.utf8.allSatisfy { $0.isLetter || $0.isDigit || "+-.".utf8.contains($0) }
    }

    private static func isAuthority(_ text: Substring) -> Bool {
        let host = text.hasPrefix("[") ? text.prefix { $0 != "]" }.dropFirst() : text.prefix { $0 != ":" }
        guard !host.isEmpty else { return false }
        if text.hasPrefix("[") {
            return host.utf8.allSatisfy { $0.isHexadecimal || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
        }
        return host.utf8.allSatisfy { $0.isLetter || $0.isDigit || "-._~".utf8.contains($0) }
    }

    /// The first character that is not permitted in a URL, in a sentence.
    private static func firstProblem(in text: String) -> String? {
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard rest.count >= 2, rest.prefix(2).allSatisfy(\.isHexadecimal) else {
                    return "a % must be followed by two hexadecimal digits; write %25 for a percent sign"
                }
                rest.removeFirst(2)
            } else if byte == 0x20 {
                return "a space must be written %20"
            } else if !byte.isUnreserved && !":/?#[]@!$&'()*+,;=".utf8.contains(byte) {
                return
                    "byte \(text.utf8.count - rest.count) must be percent-encoded, as \(PercentEncoding.encoded(byte))"
            }
        }
        return nil
    }

    private static func decoded(_ path: String) -> String? {
        let bytes = PercentEncoding.decoded(path.utf8)
        return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
    }
}

extension ResourceURL {
    /// The URL that a `Location` in an answer from this URL refers to (RFC 3986, section 5.2).
    /// - Returns: nil where it is not a valid URL for an upload.
    package func resolving(_ reference: String) -> ResourceURL? {
        let reference = String(reference.prefix { $0 != "#" })
        if let colon = reference.firstIndex(of: ":"), !reference[..<colon].contains(where: { "/?".contains($0) }) {
            return try? ResourceURL(reference)
        }
        if reference.hasPrefix("//") { return try? ResourceURL("\(scheme.rawValue):\(reference)") }
        if reference.isEmpty { return self }
        let path = path.isEmpty ? "/" : path
        if reference.hasPrefix("?") { return try? ResourceURL(origin + path + reference) }
        let end = reference.firstIndex(of: "?") ?? reference.endIndex
        let target = reference[..<end]
        let directory = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
        let merged = String(target.hasPrefix("/") ? target : directory + target)
        return try? ResourceURL(origin + Self.withoutDots(merged) + reference[end...])
    }

    /// Removes dot segments (section 5.2.4).
    private static func withoutDots(_ path: String) -> String {
        var kept: [Substring] = []
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}
