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
