internal import Commands
internal import HTTPTypes
internal import Hummingbird

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
