internal import Commands
internal import Console
internal import Door
internal import Host
internal import NetworkControl
internal import Queue

extension API {
    /// A command that has waited for days at a link has thousands of transitions.
    private static let maxTransitions = 100

    /// - Throws: 404 where there is no such command.
    func details(_ id: CommandID) async throws(Problem) -> CommandDetails {
        let found = try await read(isUrgent: true) { queue in
            try queue.details(of: id, limit: Self.maxTransitions)
        }
        guard let found else { throw .noCommand(id) }
        return found
    }

    /// - Throws: 404 where there is no such command.
    func representation(
        _ id: CommandID, hidden: CommandRepresentation.Hidden = .none
    ) async throws(Problem) -> CommandRepresentation {
        CommandRepresentation(try await details(id), shardCount: client.access.shardCount, hidden: hidden)
    }

    /// Waits until a command is as wanted, and returns it as it is then.
    ///
    /// An event of the coordinator ends the wait at once. The store is also read every second, because an event may be
    /// lost.
    func representation(
        _ id: CommandID, within time: Duration, until isWanted: @Sendable (CommandRepresentation) -> Bool
    ) async throws -> CommandRepresentation {
        let events = try await change { try client.events(prefix: "status/\(id)") }
        let deadline = MonotonicTime.now + time
        let ticks = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                for await _ in events { ticks.continuation.yield() }
            }
            group.addTask {
                while MonotonicTime.now < deadline {
                    try await Task.sleep(for: min(.seconds(1), max(deadline - .now, .milliseconds(1))))
                    ticks.continuation.yield()
                }
                ticks.continuation.finish()
            }
            var found = try await representation(id)
            guard !isWanted(found) else { return found }
            for await _ in ticks.stream {
                found = try await representation(id)
                if isWanted(found) { return found }
            }
            try Task.checkCancellation()
            return found
        }
    }
}

extension API {
    /// Why a command waits, as `sluice explain --json`. The proxy is that of workers, which the door does not know.
    @Sendable func explainCommand(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let id = try id(request)
        guard let command = try await read(isUrgent: true, { queue in try queue.command(id) }) else {
            throw Problem.noCommand(id)
        }
        let links = try await change { try await linkReadings.readings(for: command) }
        let explanation = try await read { queue in
            Explanation(
                of: command, reasons: try WaitExplainer(queue: queue, links: links).reasons(of: command),
                proxy: nil, errorOutput: try queue.errorOutput(of: command), now: queue.now)
        }
        return JSONReply.response(
            .object(
                (explanation.json.members ?? []) + [
                    .init("sentences", .array(explanation.sentences.map { .string($0) }))
                ]))
    }

    func links() async throws -> [LinkReport] { try await change { try await linkReadings.readings() } }
}
