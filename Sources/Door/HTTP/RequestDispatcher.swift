internal import Commands
package import HTTPTypes
package import Logging

/// Answers requests: finds the endpoint, checks origin and permission, and calls the handler. Every error becomes a
/// problem document.
package struct RequestDispatcher: Sendable {
    /// Finds the principal of a request.
    /// - Returns: nil where the request has no credentials.
    /// - Throws: ``Problem`` where it has some that are not valid.
    package typealias Authenticate = @Sendable (DoorRequest) async throws(Problem) -> Principal?

    /// A response, and what metrics and logs say of its request.
    package struct Answer: Sendable {
        package var response: Response
        /// The path of the endpoint; nil where there was none.
        package var route: String?
        package var principal: Principal?
    }

    private let routes: EndpointTable
    private let basePath: String
    private let originCheck: OriginCheck
    private let originRefusals: OriginRefusals
    private let authenticate: Authenticate
    private let rights: RightsWatch
    private let logger: Logger

    /// - Parameters:
    ///   - basePath: begins the URLs of the types of problems.
    ///   - allowedOrigins: pages that may send changes with a cookie, in addition to those of the door.
    ///   - statistics: count the requests of other origins.
    ///   - stillPermits: whether a principal still has one of the scopes, while a body arrives.
    package init(
        _ endpoints: [Endpoint], basePath: String, allowedOrigins: [String], logger: Logger,
        statistics: DoorStatistics = DoorStatistics(),
        stillPermits: @escaping @Sendable (Principal, Set<Scope>, HTTPFields) async -> Bool = { _, _, _ in true },
        authenticate: @escaping Authenticate
    ) {
        routes = EndpointTable(endpoints)
        self.basePath = basePath
        originCheck = OriginCheck(allowedOrigins: allowedOrigins)
        originRefusals = OriginRefusals(statistics: statistics, logger: logger)
        self.authenticate = authenticate
        rights = RightsWatch(stillPermits)
        self.logger = logger
    }

    /// - Parameters:
    ///   - request: with the path below the base path, and without parameters and principal.
    ///   - host: the field Host; nil in a request of HTTP/1.0 without it, which only some endpoints answer.
    ///   - isReserve: whether only essential endpoints are served, because connections run out.
    package func respond(to request: DoorRequest, host: String?, isReserve: Bool = false) async -> Answer {
        guard let (endpoint, parameters) = routes.match(request.path) else {
            let problem = Problem(.notFound, "not-found", "The server has no such resource; check the URL.")
            return Answer(
                response: presentToBrowser(problem, request)
                    ?? problem.response(basePath: basePath, instance: request.id))
        }
        var request = request
        request.parameters = parameters
        let preflight =
            CORS.isPreflight(request.method, request.fields) ? Self.allowedMethods(of: endpoint) : nil
        var response: Response
        do {
            guard !isReserve || endpoint.isEssential else { throw Problem.tooManyConnections }
            guard host != nil || !endpoint.needsHost else {
                throw Problem(.badRequest, "bad-host", "The request has no field Host; send exactly one.")
            }
            response = try await handle(&request, at: endpoint, host: host ?? "")
        } catch {
            let problem = problem(of: error, request)
            response =
                endpoint.method(request.method)?.present?(request, problem)
                ?? problem.response(basePath: basePath, instance: request.id)
        }
        if endpoint.allowsOtherOrigins {
            CORS.add(to: &response.headers, origin: request.fields[.origin], preflight: preflight)
        }
        endpoint.decorate?(request, &response)
        return Answer(response: response, route: endpoint.path, principal: request.principal)
    }

    /// A browser that asks for a page which does not exist gets the error as a page, as the first page shows errors.
    private func presentToBrowser(_ problem: Problem, _ request: DoorRequest) -> Response? {
        guard request.method == .get, request.fields[.accept]?.contains("text/html") == true else { return nil }
        return routes.match([])?.endpoint.method(.get)?.present?(request, problem)
    }

    private func handle(_ request: inout DoorRequest, at endpoint: Endpoint, host: String) async throws -> Response {
        if endpoint.allowsMethodOverride { try override(&request) }
        if request.method == .options {
            if let options = endpoint.options { return try await options(request) }
            return Response(status: .noContent, headers: [.allow: Self.allow(endpoint)])
        }
        guard let method = endpoint.method(request.method) else {
            throw Problem(
                .methodNotAllowed, "method-not-allowed",
                "The resource has only the methods \(Self.allow(endpoint)); use one of them.",
                fields: [.allow: Self.allow(endpoint)],
                members: [.init("allowed", .array(Self.allowedMethods(of: endpoint).map { .string($0.rawValue) }))])
        }
        // A browser sends no other credential by itself than a cookie.
        if method.scopes == nil || request.fields.contains(.cookie) {
            try checkOrigin(request, host: host)
        }
        guard let scopes = method.scopes else { return try await method.handle(request) }
        try await permit(&request, scopes)
        return try await rights.run(request, scopes, method.handle)
    }

    private func checkOrigin(_ request: DoorRequest, host: String) throws(Problem) {
        do throws(Problem) { try originCheck.check(request.method, request.fields, host: host) } catch {
            originRefusals.add(request, error)
            throw error
        }
    }

    private func permit(_ request: inout DoorRequest, _ scopes: Set<Scope>) async throws(Problem) {
        guard let principal = try await authenticate(request) else {
            throw Problem(
                .unauthorized, "token-missing", "The request has no token; send one as “Authorization: Bearer …”.",
                fields: [.wwwAuthenticate: "Bearer"])
        }
        request.principal = principal
        guard !principal.scopes.isDisjoint(with: scopes) else {
            let names = scopes.map(\.rawValue).sorted()
            throw Problem(
                .forbidden, "scope-missing",
                "The token lacks the scope \(names.joined(separator: " or ")); use a token that has it.",
                fields: [
                    .wwwAuthenticate: "Bearer error=\"insufficient_scope\", scope=\"\(names.joined(separator: " "))\""
                ],
                members: [.init("scopes", .array(names.map { .string($0) }))])
        }
    }

    /// Some networks let only GET and POST through, so clients of tus hide the method in a field.
    private func override(_ request: inout DoorRequest) throws(Problem) {
        guard request.method == .post, let name = request.fields[.xHTTPMethodOverride] else { return }
        let permitted: [HTTPRequest.Method] = [.patch, .delete, .head]
        guard let method = permitted.first(where: { $0.rawValue == name.uppercased() }) else {
            throw Problem(
                .badRequest, "bad-override", "X-HTTP-Method-Override takes PATCH, DELETE or HEAD; send one of these.")
        }
        request.method = method
    }

    private func problem(of error: any Error, _ request: DoorRequest) -> Problem {
        if let problem = Problem(error) { return problem }
        logger.error(
            "A request failed: \(error)",
            metadata: ["request": "\(request.id)", "method": "\(request.method)", "path": "\(request.path)"])
        return .failed
    }

    private static func allow(_ endpoint: Endpoint) -> String {
        allowedMethods(of: endpoint).map(\.rawValue).joined(separator: ", ")
    }

    /// In an order that does not depend on hashes: HEAD comes with GET, and OPTIONS is always there.
    private static func allowedMethods(of endpoint: Endpoint) -> [HTTPRequest.Method] {
        var methods = Set(endpoint.methods.keys)
        methods.insert(.options)
        if methods.contains(.get) { methods.insert(.head) }
        return methods.sorted { $0.rawValue < $1.rawValue }
    }
}

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

/// Cuts a request whose body arrives for some time, once its token or session has lost the right to send it: a right that was
/// checked at the start only would hold for as long as the client keeps the body open.
struct RightsWatch: Sendable {
    /// Whether a principal still has one of the scopes. Called twice a second for each such request.
    typealias StillPermits = @Sendable (Principal, Set<Scope>, HTTPFields) async -> Bool

    private let stillPermits: StillPermits
    private static let interval: Duration = .milliseconds(500)
    /// A body of fewer bytes arrives within the time in which a revocation takes effect, or its client is slow: the minimum
    /// rate of bodies bounds it.
    private static let minSize: Int64 = 64 << 10

    init(_ stillPermits: @escaping StillPermits) { self.stillPermits = stillPermits }

    /// Runs a handler. The task of a handler that is cut is cancelled; the bytes that it has made durable stay.
    /// - Throws: 401 where the right is lost; the errors of the handler.
    func run(
        _ request: DoorRequest, _ scopes: Set<Scope>,
        _ handle: @escaping @Sendable (DoorRequest) async throws -> Response
    ) async throws -> Response {
        guard let principal = request.principal, Self.lasts(request) else { return try await handle(request) }
        return try await withThrowingTaskGroup(of: Response?.self) { group in
            group.addTask { try await handle(request) }
            group.addTask {
                while await stillPermits(principal, scopes, request.fields) {
                    try await Task.sleep(for: Self.interval)
                }
                throw Self.lost(principal)
            }
            defer { group.cancelAll() }
            guard let response = try await group.next().flatMap(\.self) else { throw CancellationError() }
            return response
        }
    }

    private static func lasts(_ request: DoorRequest) -> Bool {
        if request.fields.contains(.transferEncoding) { return true }
        return request.fields[.contentLength].flatMap { Int64($0) }.map { $0 > minSize } ?? false
    }

    private static func lost(_ principal: Principal) -> Problem {
        principal.isSession
            ? .unauthorized(.session, "The session has ended while the request was sent; log in again.")
            : .unauthorized(.revoked, "The token was revoked, or has expired, while the request was sent.")
    }
}
