package import Commands
package import Door
internal import HTTPTypes

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

extension ActionRun {
    package var json: JSONValue {
        [
            "id": .string(id.description), "verb": .string(action.verb.name), "filter": action.filter.json,
            "actor": .string(actor), "state": .string(state.rawValue), "seen": .integer(Int64(seen)),
            "changed": .integer(Int64(changed)), "skipped": .integer(Int64(skipped)),
            "failed": .integer(Int64(failed)), "problem": problem.map { .string($0) } ?? .null,
            "startedAt": .string(started.description),
            "endedAt": ended.map { .string($0.description) } ?? .null,
        ]
    }
}

extension CommandFilter {
    /// The fields that are set, by the names of the query of the list.
    var json: JSONValue {
        let fields: [(String, String?)] = [
            ("status", statuses.isEmpty ? nil : statuses.map(\.name).sorted().joined(separator: ",")),
            ("qos", qos?.name), ("destination", destination?.text), ("type", type),
            ("batch", batch?.description), ("reason", reason), ("q", subject), ("from", from?.description),
            ("before", before?.description),
        ]
        return .object(fields.compactMap { name, text in text.map { .init(name, .string($0)) } })
    }
}

/// Reads the filter of a bulk action: the same fields as the query of the list.
enum FilterReader {
    private static let known = ["status", "qos", "destination", "type", "batch", "reason", "q", "from", "before"]

    /// - Throws: 400 for an unknown field, and for a value of another form.
    static func filter(_ value: JSONValue) throws(Problem) -> CommandFilter {
        guard let members = value.members else {
            throw JSONBody.problem("“filter” must be an object, not \(value.kind).")
        }
        var query = DoorQuery()
        for member in members {
            guard known.contains(member.name) else {
                throw JSONBody.problem(
                    "“filter” has no field “\(member.name.excerpt)”; it has \(known.joined(separator: ", ")).")
            }
            let values = member.name == "status" ? member.value.elements ?? [member.value] : [member.value]
            guard !values.isEmpty else {
                throw JSONBody.problem("“\(member.name)” in “filter” is an empty list; leave it out, or name one.")
            }
            for value in values {
                guard let text = value.string else {
                    throw JSONBody.problem("“\(member.name)” in “filter” must be a string, not \(value.kind).")
                }
                query.items.append((member.name, text))
            }
        }
        return try CommandListQuery.filter(QueryReader(query))
    }
}
