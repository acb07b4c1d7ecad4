internal import HTTPTypes

/// The names under which the door may be addressed. Any other name is refused, because a foreign page can point a name
/// of its own at this machine (DNS rebinding).
package struct HostCheck: Sendable {
    private let allowed: Set<String>

    /// - Parameter names: host names and addresses, in addition to those of the loopback interface.
    package init(names: [String]) {
        allowed = Set(["localhost", "127.0.0.1", "[::1]"] + names.map(Self.normalized))
    }

    /// - Parameters:
    ///   - host: the field Host: a name or an address, with or without a port.
    ///   - localAddress: the address that the connection came in on; nil on a unix socket. A foreign page cannot make a
    ///     browser send it as the name of its own host.
    /// - Throws: ``Problem`` 400 `bad-host` for a text of another form, 421 `unknown-host` for any other name.
    package func check(_ host: String, localAddress: String?) throws(Problem) {
        guard let name = HostName(host)?.name else {
            throw Problem(
                .badRequest, "bad-host", "The field Host is not a host with an optional port; send those of the URL.")
        }
        if allowed.contains(name) { return }
        if let localAddress, Self.normalized(localAddress) == name { return }
        throw Problem(
            .misdirectedRequest, "unknown-host",
            "This server is not known under the host name of the request; add the name to “door.hosts” in sluice.yaml.")
    }

    private static func normalized(_ name: String) -> String {
        let name = name.lowercased()
        return name.utf8.contains(UInt8(ascii: ":")) && name.utf8.first != UInt8(ascii: "[") ? "[\(name)]" : name
    }
}

/// The name and the port of a field Host, or of the authority of a URL.
package struct HostName: Sendable, Hashable {
    /// In lower case; an IPv6 address is in brackets.
    package var name: String
    package var port: Int?

    /// - Returns: nil where the text is not a host with an optional port.
    package init?(_ text: some StringProtocol) {
        let end: String.Index
        let text = String(text)
        if text.utf8.first == UInt8(ascii: "[") {
            guard let bracket = text.firstIndex(of: "]") else { return nil }
            guard text[text.index(after: text.startIndex)..<bracket].utf8.allSatisfy(Self.isAddress) else { return nil }
            end = text.index(after: bracket)
        } else {
            end = text.firstIndex(of: ":") ?? text.endIndex
            guard text[..<end].utf8.allSatisfy(Self.isName) else { return nil }
        }
        guard end != text.startIndex else { return nil }
        name = text[..<end].lowercased()
        if end < text.endIndex {
            guard text[end] == ":" else { return nil }
            let digits = text[text.index(after: end)...].utf8
            guard (1...5).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int(Substring(digits)), number <= 65_535
            else { return nil }
            port = number
        }
    }

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func isAddress(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66, UInt8(ascii: "."), UInt8(ascii: ":"): true
        default: false
        }
    }
}
