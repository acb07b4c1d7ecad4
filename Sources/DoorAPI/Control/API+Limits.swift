internal import Commands
internal import Console
internal import Door
internal import Hummingbird
internal import Queue

extension API {
    var limitEndpoints: [Endpoint] {
        [
            endpoint("/limits", (.get, [.read], listLimits)),
            endpoint("/limits/{name}", (.get, [.read], showLimit)),
        ]
    }

    @Sendable private func listLimits(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let limits = try await read { queue in try queue.rateLimits() }
        return JSONReply.response(["limits": .array(limits.map { .object($0.members) })])
    }

    @Sendable private func showLimit(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let name = request.parameters["name"] ?? ""
        guard let details = try await read({ queue in try queue.limitDetails(of: name) }) else {
            throw Self.noLimit(name)
        }
        return JSONReply.response(details.json)
    }

    private static func noLimit(_ name: String) -> Problem {
        Problem(.notFound, "limit-not-found", "There is no rate limit “\(name.excerpt)”; see /limits.")
    }
}
