import Door
import HTTPTypes
import Testing

@testable import DoorAPI

struct RunningKeysTests {
    @Test func `a second request with a key is refused while the first one runs`() async throws {
        let keys = RunningKeys()
        let key = IdempotencyScope(token: "t", value: "a")
        let first = AsyncStream<Void>.makeStream()
        let begun = AsyncStream<Void>.makeStream()
        async let running: Void = keys.run(key) {
            begun.continuation.finish()
            for await _ in first.stream {}
        }
        for await _ in begun.stream {}
        let problem = await #expect(throws: Problem.self) { try await keys.run(key) {} }
        #expect(problem?.status == .conflict && problem?.type == "idempotency-key-in-use")
        // Neither another key, nor that of another token, nor none waits.
        for other in [IdempotencyScope(token: "t", value: "b"), IdempotencyScope(token: "u", value: "a"), nil] {
            try await keys.run(other) {}
        }
        first.continuation.finish()
        try await running
        try await keys.run(key) {}
    }

    @Test func `a key is free again after a failure`() async throws {
        let keys = RunningKeys()
        let key = IdempotencyScope(token: "t", value: "a")
        await #expect(throws: Problem.self) { try await keys.run(key) { throw Problem.failed } }
        try await keys.run(key) {}
    }
}
