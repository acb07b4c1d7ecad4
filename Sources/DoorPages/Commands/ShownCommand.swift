internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import HTTPClient
internal import Queue

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
