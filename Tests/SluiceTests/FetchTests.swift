import Commands
import Sluice
import Store
import TestSupport
import Testing

@Suite struct FetchTests {
    private static let result =
        #"{"source":"network","status":200,"age":0,"stale":false,"body":"aGk=","#
        + #""bodyEncoding":"base64","headers":{"etag":"\"1\""}}"#

    /// Ends the fetch that waits in the store.
    private func end(_ rig: Rig, _ ending: ExecutionResult) async throws -> CommandID {
        let id = try await awaited("the command") {
            for shard in 0..<rig.store.shardCount {
                for key in try rig.store.readyKeys(shard: shard) {
                    let commands = try rig.store.ready(
                        shard: shard, destination: key.destination, qos: key.qos, afterTurn: 0, limit: 1)
                    if let command = commands.first {
                        return command.id
                    }
                }
            }
            return nil
        }
        try rig.execute(id, ending: ending)
        return id
    }

    @Test func `a response that is not stored comes from the command`() async throws {
        try await Rig.with { rig in
            let client = rig.client
            let fetch = Task { try await client.fetch("http://h/a").reduce(into: []) { $0.append($1) } }
            _ = try await end(rig, .success(result: Array(Self.result.utf8)))
            let responses = try await fetch.value
            #expect(responses.count == 1)
            #expect(responses.first?.body == Array("hi".utf8) && responses.first?.source == .network)
            #expect(responses.first?.headers == ["etag": "\"1\""] && responses.first?.isStale == false)
        }
    }

    @Test func `a failed fetch throws its reason`() async throws {
        try await Rig.with { rig in
            let client = rig.client
            let fetch = Task { for try await _ in client.fetch("http://h/a") {} }
            let id = try await end(rig, .failure(CommandFailure(.final, reason: "it is gone")))
            let error = await #expect(throws: SluiceError.self) { try await fetch.value }
            #expect(error?.message == "it is gone" && error?.id == id)
        }
    }

    @Test func `a fetch that cannot ask throws at once`() async throws {
        try await Rig.with { rig in
            for (url, mode, code) in [
                ("ftp://h/a", FetchMode.both, SluiceError.Code.usage), ("http://h/a", .stored, .failed),
            ] {
                let error = await #expect(throws: SluiceError.self) {
                    for try await _ in rig.client.fetch(url, mode: mode) {}
                }
                #expect(error?.code == code, "\(url)")
            }
        }
    }
}
