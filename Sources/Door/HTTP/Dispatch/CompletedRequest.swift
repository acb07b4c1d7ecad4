package import HTTPTypes

/// A request whose response was sent, for metrics and logs.
package struct CompletedRequest: Sendable {
    /// `X-Request-ID` of the response.
    package var id: String
    /// Nil for a request that could not be read.
    package var method: HTTPRequest.Method?
    /// The path of its ``Endpoint``; nil where there was none.
    package var route: String?
    package var status: HTTPResponse.Status
    /// From the end of the request's fields to the end of the response.
    package var duration: Duration
    /// As in ``DoorRequest/client``; nil for a request that could not be read.
    package var client: String?
    /// The principal, where the endpoint needed one and found it.
    package var principal: Principal?
    /// Whether the whole response was sent.
    package var isComplete: Bool
}
