internal import Commands
internal import Door

/// A URL of this door.
package struct PageURL: Sendable, Equatable {
    package let text: String

    fileprivate init(text: String) { self.text = text }
}

/// Makes the URLs of this door, all below the path under which the client reaches it.
package struct PageURLs: Sendable {
    /// Empty, or a path without a slash at its end.
    private let base: String

    /// - Parameter baseURL: as in ``DoorRequest/baseURL``.
    package init(baseURL: String) {
        let hasOrigin = baseURL.utf8.first != UInt8(ascii: "/")
        let rest = hasOrigin ? baseURL.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst(3) : baseURL.utf8[...]
        base = String(rest.drop { $0 != UInt8(ascii: "/") }) ?? ""
    }

    package func callAsFunction(_ link: PageLink) -> PageURL {
        var text = base
        for part in link.path { text += "/" + Self.escape(part) }
        if link.path.isEmpty { text += "/" }
        for (index, item) in link.query.enumerated() {
            text += "\(index == 0 ? "?" : "&")\(Self.escape(item.name))=\(Self.escape(item.value))"
        }
        return PageURL(text: text)
    }

    /// A part of the same page.
    package func fragment(_ id: StaticString) -> PageURL { PageURL(text: "#\(id)") }

    /// A path of this door that came with a request.
    func callAsFunction(_ path: OwnPath) -> PageURL { PageURL(text: base + path.text) }

    /// Escapes all but unreserved characters (RFC 3986, section 2.3).
    private static func escape(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default: escaped += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return escaped
    }
}

/// A page or an action of this door: its path below the base path, and its query.
package struct PageLink: Sendable {
    var path: [String]
    var query: [(name: String, value: String)] = []

    init(_ path: String..., query: [(name: String, value: String)] = []) {
        self.path = path
        self.query = query
    }

    static let overview = PageLink()
    static let commands = PageLink("commands")
    static let links = PageLink("links")
    static let workers = PageLink("workers")
    static let uploads = PageLink("uploads")
    static let upload = PageLink("upload")
    static let flows = PageLink("flows")
    static let batches = PageLink("batches")
    static let limits = PageLink("limits")
    static let schedules = PageLink("schedules")
    static let keys = PageLink("keys")
    static let login = PageLink("login")
    static let logout = PageLink("logout")

    static func commands(_ query: [(name: String, value: String)]) -> PageLink { PageLink("commands", query: query) }
    /// - Parameter before: `seq` of a transition: the page of the timeline before it.
    static func command(_ id: CommandID, before seq: Int64? = nil) -> PageLink {
        PageLink("commands", id.description, query: seq.map { [("before", "\($0)")] } ?? [])
    }
    static func action(_ verb: String, on id: CommandID) -> PageLink { PageLink("commands", id.description, verb) }
    static func flow(_ id: CommandID) -> PageLink { PageLink("flows", id.description) }
    static func batch(_ id: CommandID) -> PageLink { PageLink("batches", id.description) }
    static func limit(_ name: String) -> PageLink { PageLink("limits", name) }
    static func asset(_ name: String) -> PageLink { PageLink("assets", Assets.hash, name) }
}

/// The path and query of a page of this door, below its base path, that a client sent back.
///
/// A text such as `//host/` or `/\host` is a URL of another server to a browser; only plain paths are taken.
package struct OwnPath: Sendable, Equatable {
    package let text: String

    /// - Returns: nil for anything but a path of at most 1,024 visible ASCII characters.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count <= 1024, bytes.first == UInt8(ascii: "/"), bytes.dropFirst().first != UInt8(ascii: "/"),
            bytes.allSatisfy({ (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: "\\") })
        else { return nil }
        self.text = text
    }
}
