internal import Commands
internal import Door
internal import HTTPTypes
internal import Hummingbird

extension API {
    var actionEndpoints: [Endpoint] {
        [
            endpoint("/commands/actions", (.post, [.control], startAction)),
            endpoint("/actions", (.get, [.read, .control], listActions)),
            endpoint(
                "/actions/{id}", (.get, [.read, .control], showAction), (.delete, [.control], cancelAction)),
        ]
    }

    @Sendable private func startAction(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let body = try await JSONBody.members(request, ["verb", "filter", "all", "qos", "as"])
        let verb = try VerbReader.verb(body)
        let filter = try FilterReader.filter(body["filter"] ?? .object([]))
        let isAll = body["all"] ?? false
        guard isAll.bool != nil else { throw JSONBody.problem("“all” must be true or false, not \(isAll.kind).") }
        guard filter != CommandFilter() || isAll.bool == true else {
            throw Problem(
                .badRequest, "empty-filter",
                "The filter admits every command; name what to change, or send “all”: true.")
        }
        return try await start(BulkAction(verb, of: filter), request)
    }

    /// Starts an action, and tells where its progress is.
    func start(_ action: BulkAction, _ request: DoorRequest) async throws -> Response {
        let id = try await actions.start(action, by: request.actor)
        guard let run = await actions.run(id) else { throw Problem.failed }
        log("Began the action \(id): \(action.verb.name) \(action.filter.json.text)", request)
        return JSONReply.response(
            run.json, status: .accepted, fields: [.location: "\(request.baseURL)\(Self.root)/actions/\(id)"])
    }

    @Sendable private func listActions(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        return JSONReply.response(["actions": .array(await actions.all().map(\.json))])
    }

    @Sendable private func showAction(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        return JSONReply.response(try await action(request).json)
    }

    /// Commands that were changed stay changed.
    @Sendable private func cancelAction(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let run = try await action(request)
        _ = await actions.cancel(run.id)
        return Response(status: .noContent)
    }

    private func action(_ request: DoorRequest) async throws -> ActionRun {
        guard let id = CommandID(request.parameters["id"] ?? ""), let run = await actions.run(id) else {
            throw Problem(
                .notFound, "action-not-found",
                "There is no such action; the last \(ActionRuns.maxEnded) are kept, until the door ends.")
        }
        return run
    }
}
