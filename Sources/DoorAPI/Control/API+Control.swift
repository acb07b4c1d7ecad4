internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
internal import Queue

extension API {
    var controlEndpoints: [Endpoint] {
        [
            endpoint("/commands/{id}/cancel", (.post, [.control], cancelCommand)),
            endpoint("/commands/{id}/retry", (.post, [.control], retryCommand)),
            endpoint("/commands/{id}/resolve", (.post, [.control], resolveCommand)),
            endpoint("/commands/{id}/requalify", (.post, [.control], requalifyCommand)),
        ]
    }

    @Sendable private func cancelCommand(_ request: DoorRequest) async throws -> Response {
        _ = try await JSONBody.members(request, [])
        return try await control(request, .cancel)
    }

    @Sendable private func retryCommand(_ request: DoorRequest) async throws -> Response {
        _ = try await JSONBody.members(request, [])
        return try await control(request, .retry)
    }

    @Sendable private func resolveCommand(_ request: DoorRequest) async throws -> Response {
        let body = try await JSONBody.members(request, ["as"])
        return try await control(request, .resolve(try VerbReader.settlement(body)))
    }

    @Sendable private func requalifyCommand(_ request: DoorRequest) async throws -> Response {
        let body = try await JSONBody.members(request, ["qos"])
        return try await control(request, .requalify(try VerbReader.quality(body)))
    }

    /// Changes a command, unless it is as wanted already.
    /// - Throws: 404; 409 with the verbs that its status allows; 412 where `If-Match` names another transition.
    private func control(_ request: DoorRequest, _ verb: BulkAction.Verb) async throws -> Response {
        _ = try QueryReader(request, [])
        let id = try id(request)
        let before = try await representation(id)
        let condition = request.fields[values: .ifMatch]
        guard CommandTag.admits(condition, version: before.tag.version) else { throw Self.changed(before) }
        var isPending = false
        if !verb.isSatisfied(by: before.command) {
            guard verb.permitted.contains(before.status) else { throw Self.conflict(before.command, verb) }
            do {
                isPending = try await verb.apply(
                    to: id, ifNewest: condition.isEmpty ? nil : before.newest, client: client, actor: request.actor)
                log("\(verb.name) of command \(id)", request)
            } catch let error as SluiceError where error.code == .notAllowed {
                // A claim, for example, may have come in between.
                let now = try await representation(id)
                guard CommandTag.admits(condition, version: now.tag.version) else { throw Self.changed(now) }
                throw Self.conflict(now.command, verb)
            } catch let error as SluiceError {
                throw problem(error)
            }
        } else {
            isPending = verb == .cancel && before.status != .cancelled
        }
        // To change a command is not to read what it carries.
        let isReader = request.principal?.scopes.contains(.read) ?? false
        let after = try await representation(id, hidden: isReader ? .none : .payloadAndResult)
        return JSONReply.response(
            after.body, status: isPending ? .accepted : .ok, fields: [.eTag: after.tag.text])
    }

    private static func changed(_ found: CommandRepresentation) -> Problem {
        Problem(
            .preconditionFailed, "command-changed",
            "Command \(found.command.id) has changed since the client read it: it is \(found.status) now. Look at it, and "
                + "send the request again with its ETag.",
            fields: [.eTag: found.tag.text],
            members: [.init("command", found.command.json)])
    }

    private static func conflict(_ command: Command, _ verb: BulkAction.Verb) -> Problem {
        let allowed = BulkAction.Verb.names(allowedFor: command)
        let remedy = allowed.isEmpty ? "nothing changes it any more" : "it takes \(allowed.joined(separator: ", "))"
        return Problem(
            .conflict, "status-conflict",
            "Command \(command.id) is \(command.status), which “\(verb.name)” does not change; \(remedy).",
            members: [
                .init("command", command.json), .init("allowed", .array(allowed.map { .string($0) })),
            ])
    }
}

/// Reads verbs and their arguments from bodies.
enum VerbReader {
    private static let settlements: [String: CommandStatus] = [
        "success": .success, "retry": .new, "cancel": .cancelled,
    ]

    /// - Throws: 400.
    static func quality(_ body: JSONValue) throws(Problem) -> QualityOfService {
        guard let qos = body["qos"]?.string.flatMap({ QualityOfService(name: $0) }) else {
            throw JSONBody.problem("“qos” must be \(CommandFilterForm.qualities).")
        }
        return qos
    }

    /// - Throws: 400.
    static func settlement(_ body: JSONValue) throws(Problem) -> CommandStatus {
        guard let status = body["as"]?.string.flatMap({ settlements[$0] }) else {
            throw JSONBody.problem(
                "“as” must be success (it was delivered), retry (it was not) or cancel (it is not needed any more).")
        }
        return status
    }

    /// The verb of a bulk action. An argument of another verb is refused.
    /// - Throws: 400.
    static func verb(_ body: JSONValue) throws(Problem) -> BulkAction.Verb {
        let verb: BulkAction.Verb
        switch body["verb"]?.string {
        case "cancel": verb = .cancel
        case "retry": verb = .retry
        case "requalify": verb = .requalify(try quality(body))
        case "resolve": verb = .resolve(try settlement(body))
        default: throw JSONBody.problem("“verb” must be cancel, retry, requalify or resolve.")
        }
        if body["qos"] != nil, verb.name != "requalify" { throw JSONBody.problem("“qos” is of the verb requalify.") }
        if body["as"] != nil, verb.name != "resolve" { throw JSONBody.problem("“as” is of the verb resolve.") }
        return verb
    }
}
