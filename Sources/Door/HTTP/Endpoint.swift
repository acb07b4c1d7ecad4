package import HTTPTypes
package import Hummingbird

/// A path of the door, and what its methods do.
package struct Endpoint: Sendable {
    package typealias Handler = @Sendable (DoorRequest) async throws -> Response

    /// Parts separated by slashes; one in braces matches any part, as in `/api/v1/commands/{id}`.
    package var path: String
    package var methods: [HTTPRequest.Method: Method]
    /// Answers OPTIONS with the fields of its protocol; nil: the dispatcher answers with `Allow`.
    package var options: Handler?
    /// Whether pages of other origins may use it, with tokens (CORS).
    package var allowsOtherOrigins: Bool
    /// Whether a POST may name its method in `X-HTTP-Method-Override`: PATCH, DELETE or HEAD.
    package var allowsMethodOverride = false
    /// Whether the last connections below the maximum still serve it: health, metrics, and the page.
    package var isEssential = false
    /// Whether a request of HTTP/1.0 needs Host too. Load balancers ask for the health without it.
    package var needsHost = true
    /// Changes each response, also those of the dispatcher: the fields of the endpoint's protocol.
    package var decorate: (@Sendable (DoorRequest, inout Response) -> Void)?

    package struct Method: Sendable {
        /// The principal needs any of these; nil: no token is asked for.
        package var scopes: Set<Scope>?
        package var handle: Handler
        /// Presents an error in another form than a problem document: a page, or the way to the login. Nil: the document.
        package var present: (@Sendable (DoorRequest, Problem) -> Response)?

        package init(
            scopes: Set<Scope>?, present: (@Sendable (DoorRequest, Problem) -> Response)? = nil,
            _ handle: @escaping Handler
        ) {
            self.scopes = scopes
            self.present = present
            self.handle = handle
        }
    }

    package init(
        _ path: String, methods: [HTTPRequest.Method: Method], options: Handler? = nil, allowsOtherOrigins: Bool = false
    ) {
        self.path = path
        self.methods = methods
        self.options = options
        self.allowsOtherOrigins = allowsOtherOrigins
    }

    /// The method of a request: HEAD is GET unless the endpoint has its own.
    func method(_ name: HTTPRequest.Method) -> Method? {
        methods[name] ?? (name == .head ? methods[.get] : nil)
    }
}
