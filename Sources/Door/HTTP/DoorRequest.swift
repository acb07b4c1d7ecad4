package import HTTPTypes
package import Hummingbird

/// A request, after the checks that hold for every path.
package struct DoorRequest: Sendable {
    package var method: HTTPRequest.Method
    /// The parts of the path below the base path, percent-decoded.
    package var path: [String]
    /// The values that the braces of an endpoint's path matched, by their names.
    package var parameters: [String: String] = [:]
    package var query: DoorQuery
    package var fields: HTTPFields
    package var body: RequestBody
    /// `X-Request-ID` of the response, and of the log.
    package var id: String
    /// The address of the client, after trusted proxies; `unix` on the unix socket.
    package var client: String
    /// The scheme, host and base path that links in responses begin with, without a slash at the end; the base path alone
    /// where the scheme is not known.
    package var baseURL: String
    /// Nil where the endpoint needs no token.
    package var principal: Principal?
    /// The fields after a chunked body; nil before its end, and where there are none.
    package var trailers: @Sendable () -> HTTPFields? = { nil }
    /// The memory of a body that is held as a whole.
    package var memory = BodyMemory.Share(of: BodyMemory(capacity: .max / 2))
    /// For a response that lasts.
    package var connection = RequestConnection()
    /// Sends a response before the final one: 104. Clients of HTTP/1.0 get none. A client that awaits 100 gets it with
    /// the first read of ``body``.
    package var sendInterim: @Sendable (HTTPResponse.Status, HTTPFields) async throws -> Void

    package init(
        method: HTTPRequest.Method, path: [String], query: DoorQuery, fields: HTTPFields, body: RequestBody, id: String,
        client: String, baseURL: String,
        sendInterim: @escaping @Sendable (HTTPResponse.Status, HTTPFields) async throws -> Void
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
        self.id = id
        self.client = client
        self.baseURL = baseURL
        self.sendInterim = sendInterim
    }
}
