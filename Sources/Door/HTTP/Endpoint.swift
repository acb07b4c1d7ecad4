package import HTTPTypes

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

/// Finds the endpoint of a path. A constant part of an endpoint's path has precedence over one in braces.
package struct EndpointTable: Sendable {
    private enum Part: Sendable {
        case constant(String)
        case parameter(String)

        var isParameter: Bool { if case .parameter = self { true } else { false } }
    }

    private var routes: [(parts: [Part], endpoint: Endpoint)] = []

    /// - Parameter endpoints: of two with the same path, the first counts, with the methods that only the second has.
    package init(_ endpoints: [Endpoint]) {
        var indices: [String: Int] = [:]
        for endpoint in endpoints {
            if let index = indices[endpoint.path] {
                routes[index].endpoint.methods.merge(endpoint.methods) { first, _ in first }
            } else {
                indices[endpoint.path] = routes.count
                routes.append((Self.parts(of: endpoint.path), endpoint))
            }
        }
        // A stable order: of two endpoints, the one with the constant at the first difference comes first.
        let order = routes.indices.sorted { left, right in
            let pairs = zip(routes[left].parts, routes[right].parts)
            if let (_, other) = pairs.first(where: { $0.isParameter != $1.isParameter }) { return other.isParameter }
            return left < right
        }
        routes = order.map { [routes] in routes[$0] }
    }

    /// - Parameter path: decoded parts. An empty one matches no braces.
    package func match(_ path: [String]) -> (endpoint: Endpoint, parameters: [String: String])? {
        for (parts, endpoint) in routes where parts.count == path.count {
            if let parameters = Self.parameters(of: parts, in: path) { return (endpoint, parameters) }
        }
        return nil
    }

    private static func parameters(of parts: [Part], in path: [String]) -> [String: String]? {
        var parameters: [String: String] = [:]
        for (part, text) in zip(parts, path) {
            switch part {
            case .constant(let constant): guard constant == text else { return nil }
            case .parameter(let name):
                guard !text.isEmpty else { return nil }
                parameters[name] = text
            }
        }
        return parameters
    }

    private static func parts(of path: String) -> [Part] {
        path.split(separator: "/").map { part in
            let isParameter = part.first == "{" && part.last == "}"
            return isParameter ? .parameter(String(part.dropFirst().dropLast())) : .constant(String(part))
        }
    }
}
