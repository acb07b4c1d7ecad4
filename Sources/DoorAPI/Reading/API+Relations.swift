internal import Commands
internal import Console
internal import Door
internal import HTTPClient
internal import HTTPTypes
internal import Queue

extension API {
    var relationEndpoints: [Endpoint] {
        [
            endpoint("/flows", (.get, [.read], listFlows), (.post, [.submit], submitFlow)),
            endpoint("/flows/{id}", (.get, [.read], showFlow)),
            endpoint("/batches/{id}", (.get, [.read], showBatch)),
        ]
    }

    /// The flows that have not ended, the newest first. Ended ones are commands of the type `flow`.
    @Sendable private func listFlows(_ request: DoorRequest) async throws -> Response {
        let limit = try QueryReader(request, ["limit"]).limit(default: 100)
        let newest = try await read { queue in try queue.openFlows(limit: limit) }
        return JSONReply.response(["flows": .array(newest.map { .object(FlowJSON.members(of: $0)) })])
    }

    /// A flow with a page of its nodes, and its callbacks behind them.
    @Sendable private func showFlow(_ request: DoorRequest) async throws -> Response {
        let query = try QueryReader(request, ["limit", "cursor"])
        let limit = try query.limit(default: 1000)
        let position = try query.value("cursor", "the cursor of a page before") { Int64($0) } ?? 0
        let id = try id(request)
        let found = try await read { queue in
            try queue.flow(id, after: position, limit: limit)
        }
        let details = try Self.found(found, id, "flow")
        let (flow, nodes) = (details.flow, details.nodes)
        let next = details.next.map { "\($0)" }
        let names = Dictionary(nodes.map { ($0.position, $0.name) }, uniquingKeysWith: { first, _ in first })
        let body =
            FlowJSON.members(of: flow) + [
                .init("nodes", .array(nodes.filter { $0.name != nil }.map { FlowJSON.value(of: $0, names) })),
                .init("callbacks", .array(nodes.filter { $0.name == nil }.map(FlowJSON.callback))),
                .init("next", next.map { .string($0) } ?? .null),
            ]
        return JSONReply.response(.object(body), fields: JSONReply.next(next, of: request))
    }

    @Sendable private func showBatch(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let id = try id(request)
        let found = try await read { queue in try queue.batch(id) }
        return JSONReply.response(BatchJSON.value(of: try Self.found(found, id, "batch")))
    }

    /// - Throws: 404 for a command of another type.
    private static func found<Value>(
        _ reading: CompositeReading<Value>, _ id: CommandID, _ type: String
    ) throws(Problem) -> Value {
        switch reading {
        case .found(let value): return value
        case .missing: throw .noCommand(id)
        case .other(let command, _):
            throw Problem(
                .notFound, "command-not-found",
                "Command \(id) is of the type “\(command.type)”, not a \(type); ask for it as a command.")
        }
    }
}
