import BuiltIn
import Commands
import Operations
import Testing

@Suite struct NoopOperationTests {
    private let noop = NoopOperation()

    private func run(_ payload: String) async throws -> [UInt8]? {
        let attributes = try noop.inspect(try JSONValue(parsing: payload.utf8))
        var command = Command(id: CommandID(), type: "noop", destination: attributes.destination, createdAt: .now)
        command.status = .sent
        command.idempotent = attributes.idempotent
        return try await noop.execute(
            CommandExecution(command: command, payload: Array(payload.utf8), meter: TransferMeter()))
    }

    @Test func `a noop has no destination and is idempotent`() throws {
        let attributes = try noop.inspect(["milliseconds": 3])
        #expect(attributes.destination == .none)
        #expect(attributes.idempotent)
    }

    @Test(arguments: ["{}", #"{"milliseconds":0}"#, #"{ "milliseconds" : 0 }"#])
    func `a noop without a duration returns at once`(_ payload: String) async throws {
        #expect(try await run(payload) == nil)
    }

    @Test func `a noop waits for its duration`() async throws {
        let began = ContinuousClock.now
        _ = try await run(#"{"milliseconds":30}"#)
        #expect(ContinuousClock.now - began >= .milliseconds(30))
    }

    @Test func `a noop stops when it is cancelled`() async throws {
        let task = Task { try await run(#"{"milliseconds":86400000}"#) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(arguments: [
        (#"{"seconds":1}"#, "seconds"), (#"{"milliseconds":-1}"#, "milliseconds"),
        (#"{"milliseconds":1.5}"#, "milliseconds"),
        (#"{"milliseconds":"1"}"#, "milliseconds"), (#"{"milliseconds":86400001}"#, "milliseconds"), ("[]", "object"),
    ])
    func `an invalid payload is refused, and the error names the key`(_ payload: String, _ named: String) throws {
        let value = try JSONValue(parsing: payload.utf8)
        let error = #expect(throws: PayloadError.self) { try noop.inspect(value) }
        #expect(error?.problem == .data)
        #expect(error?.message.contains(named) == true)
    }
}
