internal import HTTPClient
package import HTTPTypes

/// The address of the client of a proxy.
package struct ForwardedAddress: Sendable {
    private let trusted: [IPNetwork]
    private let trustsUnixSocket: Bool

    /// - Parameter trustedProxies: addresses and networks in CIDR form; `unix` for every client of the unix socket.
    ///   Texts that are neither count for nothing.
    package init(trustedProxies: [String]) {
        trusted = trustedProxies.compactMap { IPNetwork($0) }
        trustsUnixSocket = trustedProxies.contains("unix")
    }

    /// Goes through the proxies from the nearest on, as long as they are trusted. `X-Forwarded-For` has precedence
    /// over `Forwarded` (RFC 7239).
    /// - Parameter peer: the address at the other end of the connection; nil on a unix socket.
    /// - Returns: the first address that is not a trusted proxy's; `unix` for a client of the unix socket.
    package func client(peer: String?, fields: HTTPFields) -> String {
        var client = peer ?? "unix"
        guard isTrusted(client) else { return client }
        let addresses =
            fields.contains(.xForwardedFor)
            ? Self.list(fields[values: .xForwardedFor]).map(Self.address)
            : Self.list(fields[values: .forwarded]).map(Self.forwarded)
        for address in addresses.reversed() {
            guard let address, IPNetwork(address)?.isAddress == true, !address.contains("/") else { return client }
            client = address
            guard isTrusted(client) else { return client }
        }
        return client
    }

    /// The scheme of the URL that a client uses.
    enum Scheme: Equatable {
        /// No proxy says otherwise.
        case asConnected
        /// `http` or `https`, by a trusted proxy.
        case stated(String)
        /// By a proxy that is not trusted, or none of both.
        case unknown
    }

    /// Reads `X-Forwarded-Proto`, or the parameter `proto` of `Forwarded` (RFC 7239). The first value is that of the proxy
    /// which the client has reached.
    /// - Parameter peer: the address at the other end of the connection; nil on a unix socket.
    func scheme(peer: String?, fields: HTTPFields) -> Scheme {
        let stated =
            Self.list(fields[values: .xForwardedProto]).first.map(Self.trimmed)
            ?? Self.list(fields[values: .forwarded]).lazy.compactMap { Self.parameter("proto", of: $0) }.first
        guard let stated else { return .asConnected }
        let scheme = stated.lowercased().filter { $0 != "\"" }
        return isTrusted(peer ?? "unix") && (scheme == "http" || scheme == "https") ? .stated(scheme) : .unknown
    }

    /// - Parameter address: of a client; `unix` for one of the unix socket.
    func isTrusted(_ address: String) -> Bool {
        if address == "unix" { return trustsUnixSocket }
        guard let address = IPNetwork(address) else { return false }
        return trusted.contains { $0.contains(address) }
    }

    private static func list(_ values: [String]) -> [Substring] {
        values.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
    }

    /// The parameter `for` of one element.
    private static func forwarded(_ element: Substring) -> String? { parameter("for", of: element).flatMap(address) }

    private static func parameter(_ name: String, of element: Substring) -> Substring? {
        for parameter in element.split(separator: ";") {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            if pair.count == 2, trimmed(pair[0]).lowercased() == name { return trimmed(pair[1]) }
        }
        return nil
    }

    /// An address, possibly quoted, in brackets, and with a port.
    private static func address(_ text: Substring) -> String? {
        var text = trimmed(text)
        if text.count >= 2, text.first == "\"", text.last == "\"" { text = text.dropFirst().dropLast() }
        if text.first == "[" { return text.firstIndex(of: "]").map { String(text[..<$0].dropFirst()) } }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return String(parts.count == 2 ? parts[0] : text)
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }
}
