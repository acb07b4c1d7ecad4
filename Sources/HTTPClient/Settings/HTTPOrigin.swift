package import Commands

/// Scheme, host and port of a server. Connections are opened and kept by origin.
package struct HTTPOrigin: Hashable, Sendable, CustomStringConvertible {
    /// Whether the scheme is `https`.
    package let isEncrypted: Bool
    /// A name or an address, in lower case; an IPv6 address without brackets.
    package let host: String
    package let port: Int

    package init(isEncrypted: Bool, host: String, port: Int) {
        self.isEncrypted = isEncrypted
        self.host = host
        self.port = port
    }

    /// - Returns: nil for a destination that HTTP cannot reach.
    package init?(_ destination: Destination) {
        let text = destination.text.utf8[...]
        guard let scheme = text.split(separator: UInt8(ascii: ":"), maxSplits: 1).first,
            let colon = text.lastIndex(of: UInt8(ascii: ":")), let port = Int(Substring(text[colon...].dropFirst()))
        else { return nil }
        switch String(scheme) {
        case "http": isEncrypted = false
        case "https": isEncrypted = true
        default: return nil
        }
        var host = text[..<colon].dropFirst(scheme.count + 3)
        if host.first == UInt8(ascii: "["), host.last == UInt8(ascii: "]") { host = host.dropFirst().dropLast() }
        guard let name = String(host), !name.isEmpty else { return nil }
        (self.host, self.port) = (name, port)
    }

    /// `host:port` with brackets around an IPv6 address, as CONNECT takes it (RFC 9110, section 9.3.6).
    package var authority: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// The value of the `Host` field: without the port where it is the scheme's own (RFC 9110, section 7.2).
    package var hostField: String {
        let text = authority
        let suffix = isEncrypted ? ":443" : ":80"
        return port == (isEncrypted ? 443 : 80) ? String(text.dropLast(suffix.utf8.count)) : text
    }

    package var description: String { "\(isEncrypted ? "https" : "http")://\(authority)" }
}
