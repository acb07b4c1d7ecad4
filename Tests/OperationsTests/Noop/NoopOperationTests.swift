import Commands
import Operations
import Testing
import Work

@Suite struct NoopOperationTests {
    private let noop = NoopOperation()

    private func run(_ payload: String) async throws -> [UInt8]? {
        let facts = try noop.inspect(try JSONValue(parsing: payload.utf8))
        var command = Command(id: CommandID(), type: "noop", destination: facts.destination, createdAt: .now)
        command.status = .sent
        command.idempotent = facts.idempotent
        return try await noop.execute(
            CommandExecution(command: command, payload: Array(payload.utf8), meter: TransferMeter()))
    }

    @Test func `talks to nobody and may run again`() throws {
        let facts = try noop.inspect(["milliseconds": 3])
        #expect(facts.destination == .none)
        #expect(facts.idempotent)
    }

    @Test(arguments: ["{}", #"{"milliseconds":0}"#, #"{ "milliseconds" : 0 }"#])
    func `returns at once`(_ payload: String) async throws {
        #expect(try await run(payload) == nil)
    }

    @Test func `waits as long as it is told`() async throws {
        let began = ContinuousClock.now
        _ = try await run(#"{"milliseconds":30}"#)
        #expect(ContinuousClock.now - began >= .milliseconds(30))
    }

    @Test func `stops when it is cancelled`() async throws {
        let task = Task { try await run(#"{"milliseconds":86400000}"#) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(arguments: [
        (#"{"seconds":1}"#, "seconds"), (#"{"milliseconds":-1}"#, "milliseconds"),
        (#"{"milliseconds":1.5}"#, "milliseconds"),
        (#"{"milliseconds":"1"}"#, "milliseconds"), (#"{"milliseconds":86400001}"#, "milliseconds"), ("[]", "object"),
    ])
    func `refuses what it does not understand and names it`(_ payload: String, _ named: String) throws {
        let value = try JSONValue(parsing: payload.utf8)
        let error = #expect(throws: PayloadError.self) { try noop.inspect(value) }
        #expect(error?.problem == .data)
        #expect(error?.message.contains(named) == true)
    }
}
