package import NIOHTTP1

/// The head of one request and its options. The body comes from the ``HTTPExchange``.
package struct HTTPRequest: Sendable {
    package var method: HTTPMethod
    package var origin: HTTPOrigin
    /// Path and query as they stand in the request line; empty means `/`.
    package var target: String
    /// Without `Host`, `Content-Length` and `Expect`, which the client adds.
    package var headers: HTTPHeaders
    /// Bytes of the body.
    package var bodyLength: Int64
    /// Options that seldom differ from their defaults.
    package var options = Options()

    package struct Options: Sendable {
        /// The maximum idle time of a kept connection that carries this request. The server may be about to
        /// close an idle connection, so a request that must be sent only once takes a young or a new one.
        package var maxIdle: Duration = .seconds(60)
        /// Sends `Expect: 100-continue` and waits at most 1 s for an interim or final response before the
        /// body.
        package var expectsContinue = false
        /// From the final response's head to the end of its body; nil: as long as bytes move.
        package var bodyTimeout: Duration? = .seconds(10)
        /// From the last byte sent to the head of the final response, while the connection is alive; nil:
        /// ``HTTPClientConfiguration/idleTimeout``.
        package var responseTimeout: Duration?

        package init() {}
    }

    package init(
        _ method: HTTPMethod, _ origin: HTTPOrigin, target: String, headers: HTTPHeaders, bodyLength: Int64 = 0
    ) {
        self.method = method
        self.origin = origin
        self.target = target
        self.headers = headers
        self.bodyLength = bodyLength
    }

    /// - Parameter proxy: the proxy that receives the request. It needs the whole URL (RFC 9112, section
    ///   3.2.2) and may demand a credential.
    func head(for proxy: HTTPProxy?) -> HTTPRequestHead {
        let path = target.utf8.first == UInt8(ascii: "/") ? target : "/" + target
        var headers = headers
        headers.replaceOrAdd(name: "Host", value: origin.hostField)
        let mayHaveBody = [.PUT, .POST, .PATCH].contains(method)
        if bodyLength > 0 || mayHaveBody { headers.replaceOrAdd(name: "Content-Length", value: "\(bodyLength)") }
        if options.expectsContinue, bodyLength > 0 { headers.replaceOrAdd(name: "Expect", value: "100-continue") }
        if let authorization = proxy?.authorization {
            headers.replaceOrAdd(name: "Proxy-Authorization", value: authorization)
        }
        let uri = proxy == nil ? path : "http://\(origin.hostField)\(path)"
        return HTTPRequestHead(version: .http1_1, method: method, uri: uri, headers: headers)
    }
}
