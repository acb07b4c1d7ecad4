internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import HTTPClient
internal import HTTPTypes
internal import Queue

/// The page of one command, and its buttons.
struct OneCommandPage: Sendable {
    let route: PageRoute

    var endpoints: [Endpoint] {
        [route.page("/commands/{id}", Self.show), route.action("/commands/{id}/{verb}", Self.act)]
    }

    private static func show(_ visit: Visit) async throws -> Response {
        let id = try id(of: visit)
        let before = visit.request.query["before"].flatMap { Int64($0) }
        guard let shown = try await ShownCommand.read(id, before: before, visit) else { throw missing(id) }
        return CommandView(visit: visit, shown: shown, before: before).response
    }

    private static func act(_ visit: Visit, _ form: FormFields) async throws -> Response {
        let id = try id(of: visit)
        guard let verb = verb(visit.request.parameters["verb"] ?? "", form) else {
            throw Problem(.notFound, "not-found", "A command has no such verb; use a button of its page.")
        }
        let page = PageLink.command(id)
        // Retry and the settlement of a doubt act on what their reader saw; a cancellation says the same in any status.
        let (command, version) = try await visit.services.read(isUrgent: true) { queue in
            let command = try queue.command(id)
            return (command, try queue.version(of: id))
        }
        guard let command else { throw missing(id) }
        if let seen = form["seen"], seen != version {
            return visit.done(
                "It has changed: it is “\(command.status.word)” now. Look again, then decide.", isProblem: true,
                back: form["back"], or: page)
        }
        do {
            try await visit.services.change(id, verb, by: visit.request.actor)
        } catch let error as SluiceError {
            return visit.done(Problem(error).detail, isProblem: true, back: form["back"], or: page)
        }
        let isRequest = verb == .cancel && command.status.isClaimed
        return visit.done(
            isRequest ? "The cancellation is requested; its worker ends it." : "\(verb.past).", back: form["back"],
            or: page)
    }

    private static func verb(_ name: String, _ form: FormFields) -> BulkAction.Verb? {
        switch name {
        case "cancel": .cancel
        case "retry": .retry
        case "requalify": form["qos"].flatMap(QualityOfService.init(name:)).map { .requalify($0) }
        case "resolve": form["as"].flatMap(CommandStatus.init(name:)).map { .resolve($0) }
        default: nil
        }
    }

    private static func id(of visit: Visit) throws(Problem) -> CommandID {
        guard let id = CommandID(visit.request.parameters["id"] ?? "") else {
            throw Problem(
                .notFound, "not-found", "The id of a command is a UUID; find the command by its name or reason.")
        }
        return id
    }

    private static func missing(_ id: CommandID) -> Problem {
        Problem(.notFound, "not-found", "There is no command \(id): it never was, or was pruned.")
    }
}

/// Everything that the page of a command shows.
struct ShownCommand: Sendable {
    /// A page has a budget of bytes.
    private static let transitions = 60

    let details: CommandDetails
    let payload: StoredText?
    let result: StoredText?
    let name: String?
    let reasons: [WaitReason]
    /// It is a callback of a batch, which its details have as the flow.
    let isOfBatch: Bool
    let errorOutput: [String]
    /// The newest transition as `shard-seq`: a form carries it, so that a button acts only on what its reader saw.
    let version: String

    var command: Command { details.command }

    /// - Parameter before: `seq` of a transition: the page of the timeline before it. Nil: the newest page.
    /// - Returns: nil where there is no such command.
    static func read(
        _ id: CommandID, before seq: Int64?, _ visit: Visit
    ) async throws(Problem) -> ShownCommand? {
        let links = visit.live.links.shown
        return try await visit.services.read(isUrgent: true) { queue in
            // Before the command, so that it is never newer than what the page shows.
            let version = try queue.version(of: id)
            guard let details = try queue.details(of: id, before: seq, limit: transitions) else { return nil }
            let command = details.command
            let explainer = WaitExplainer(queue: queue, links: links)
            let parsed = details.result.flatMap { try? JSONValue(parsing: $0) }
            return ShownCommand(
                details: details,
                payload: details.payload.map { StoredText($0) { HTTPHeaderRedaction.shown($0) } },
                result: details.result.map { StoredText($0) { HTTPHeaderRedaction.shown(result: $0) } },
                name: details.payload.flatMap { CommandSubject(payload: $0)?.name },
                reasons: try explainer.reasons(of: command),
                isOfBatch: try details.waits?.flow.map { try queue.command($0)?.type == CommandType.batch } ?? false,
                errorOutput: command.hasFailedProgram ? parsed.flatMap { ErrorOutput(result: $0) }?.lines ?? [] : [],
                version: version)
        }
    }
}
