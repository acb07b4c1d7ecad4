internal import Commands
internal import Console
internal import Door
internal import Hummingbird
internal import NetworkControl
internal import Queue
internal import Store

extension API {
    /// Why a command waits, as `sluice explain --json`. The proxy is that of workers, which the door does not know.
    @Sendable func explainCommand(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let id = try id(request)
        guard let command = try await read({ store throws(StoreError) in try store.command(id) }) else {
            throw Problem.noCommand(id)
        }
        let links = WaitExplainer.needsLinks(command) ? try await self.links() : []
        let explanation = try await read { [instance] store throws(StoreError) in
            let output =
                command.hasFailedProgram
                ? try store.result(id).flatMap { ErrorOutput(result: JSONValue(stored: $0)) } : nil
            return Explanation(
                of: command, reasons: try WaitExplainer(instance: instance, links: links).reasons(of: command),
                proxy: nil, errorOutput: output, now: .now)
        }
        return JSONReply.response(
            .object(
                (explanation.json.members ?? []) + [
                    .init("sentences", .array(explanation.sentences.map { .string($0) }))
                ]))
    }

    func links() async throws -> [LinkReport] {
        do { return try await linkReadings.readings() } catch let error as StoreError { throw problem(error) }
    }
}
