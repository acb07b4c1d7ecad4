internal import Glibc

/// A proxy for HTTP (RFC 9110, section 3.7), and for HTTPS by CONNECT.
package struct HTTPProxy: Sendable, Hashable, CustomStringConvertible {
    package var host: String
    package var port: Int
    /// The value of `Proxy-Authorization`; a secret.
    package var authorization: String?

    /// Reads `[http://][user:password@]host[:port]`. The default port is 1080, as with curl.
    /// - Throws: ``ProxyError``, which quotes no password.
    package init(_ text: String) throws(ProxyError) {
        var rest = Substring(text)
        if let range = rest.firstRange(of: "://") {
            let scheme = rest[..<range.lowerBound].lowercased()
            guard scheme == "http" else {
                throw ProxyError("the scheme “\(scheme)” is not supported for a proxy; use http://")
            }
            rest = rest[range.upperBound...]
        }
        rest = rest.prefix { $0 != "/" }
        if let at = rest.utf8.lastIndex(of: UInt8(ascii: "@")) {
            let user = PercentEncoding.decoded(rest[..<at].utf8)
            authorization = "Basic \(Base64.encode(user))"
            rest = Substring(rest[at...].utf8.dropFirst())
        }
        var port = "1080"
        if rest.utf8.first == UInt8(ascii: "[") {
            guard let end = rest.utf8.firstIndex(of: UInt8(ascii: "]")) else {
                throw ProxyError("its address has no closing bracket")
            }
            host = String(rest[rest.utf8.index(after: rest.startIndex)..<end])
            let after = rest[rest.utf8.index(after: end)...]
            if after.utf8.first == UInt8(ascii: ":") { port = String(after.dropFirst()) }
        } else if let colon = rest.utf8.lastIndex(of: UInt8(ascii: ":")) {
            host = rest[..<colon].lowercased()
            port = String(rest[rest.utf8.index(after: colon)...])
        } else {
            host = rest.lowercased()
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), let number = Int(port),
            (1...65_535).contains(number)
        else { throw ProxyError("it has no valid host and port") }
        self.port = number
    }

    /// Without the password.
    package var description: String { "http://\(host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host):\(port)" }
}

/// Why a proxy's URL cannot be used, in a sentence.
package struct ProxyError: Error, Equatable, CustomStringConvertible {
    package let description: String
    /// The environment variable that holds the URL; nil where it comes from elsewhere.
    package private(set) var variable: String?

    init(_ description: String, variable: String? = nil) {
        self.description = description
        self.variable = variable
    }
}
