internal import Commands
internal import Console
internal import Door
internal import Hummingbird
internal import NetworkControl
internal import Queue

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
