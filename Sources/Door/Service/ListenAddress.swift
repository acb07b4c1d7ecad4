/// HOST:PORT; an IPv6 address stands in brackets.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    package var host: String
    /// 0: any free port.
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Nil for anything else. A host may be left out: `:8080` is every address.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.contains(where: { "/[]@ \u{0}".contains($0) }) else { return nil }
        self.host = host.isEmpty ? "0.0.0.0" : String(host)
        self.port = Int(port)
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    /// Whether only this machine reaches it.
    package var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}
