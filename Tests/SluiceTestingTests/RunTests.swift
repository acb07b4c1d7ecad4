import SluiceTesting
import Testing

@Suite struct RunTests {
    private func queue(
        isIdempotent: Bool = true, to destination: Destination = .none,
        _ body: @escaping @Sendable (CommandExecution) async throws -> JSONValue?
    ) throws -> TestQueue {
        try TestQueue(operations: [Scripted(isIdempotent: isIdempotent, destination: destination, body: body)])
    }

    @Test func `a success has the result, the payload, the progress and the checkpoints`() async throws {
        let queue = try queue { execution in
            execution.progress(offset: 1, total: 2)
            try await execution.saveCheckpoint([7])
            execution.progress(offset: 2, total: 2)
            try await execution.saveCheckpoint([8])
            return ["answer": 42]
        }
        let run = try await queue.run("scripted", payload: ["question": true])
        #expect(run.outcome == .success(["answer": 42]))
        #expect(run.payload == ["question": true])
        #expect(run.progress == [.init(offset: 1, total: 2), .init(offset: 2, total: 2)])
        #expect(run.checkpoints == [[7], [8]])
        #expect(run.attempt == 1)
        #expect(run.reason == nil)
        #expect(!run.wasInterrupted)
        #expect(try queue.result(of: run.command.id) == ["answer": 42])
    }

    @Test func `a charged failure is retried after 5 s, more or less`() async throws {
        let queue = try queue { _ in throw CommandFailure(.command, reason: "no luck", delivery: .refused) }
        let run = try await queue.run("scripted")
        let time = try #require(run.retryTime)
        #expect((3750...6250).contains((time.milliseconds - queue.now.milliseconds)))
        #expect(run.reason == "no luck")
        #expect(run.command.retries == 1)
    }

    @Test func `another error than a CommandFailure is charged`() async throws {
        struct Mistake: Error {}
        let queue = try queue { _ in throw Mistake() }
        #expect(try await queue.run("scripted").retryTime != nil)
    }

    @Test func `a final failure is given up`() async throws {
        let queue = try queue { _ in throw CommandFailure(.final, reason: "never", delivery: .refused) }
        #expect(try await queue.run("scripted").outcome == .failed)
    }

    @Test func `an ambiguous failure puts a command that is not idempotent in doubt`() async throws {
        let body: @Sendable (CommandExecution) async throws -> JSONValue? = { _ in
            throw CommandFailure(.command, reason: "no answer", delivery: .unknown)
        }
        #expect(try await queue(isIdempotent: false, body).run("scripted").outcome == .inDoubt)
        #expect(try await queue(isIdempotent: true, body).run("scripted").retryTime != nil)
    }

    @Test func `a failure of the link is not charged, and waits longer each time`() async throws {
        let queue = try queue(to: .api) { _ in throw CommandFailure(.link, reason: "unreachable", delivery: .refused) }
        let run = try await queue.run("scripted")
        #expect(run.outcome == .released)
        #expect(run.command.retries == 0)
        #expect(try await queue.drain().isEmpty)
        // After 1, 3, 7 and 15 s.
        #expect(try await queue.drain(advancing: .seconds(15)).count == 4)
    }

    @Test func `a later attempt has the failures and the checkpoint of those before`() async throws {
        let queue = try queue { execution in
            #expect(execution.checkpoint == [9])
            #expect(execution.claim == 3)
            #expect(execution.command.retries == 2)
            throw CommandFailure(.command, reason: "again", delivery: .refused)
        }
        let run = try await queue.run("scripted", attempt: 3, checkpoint: [9])
        #expect(run.attempt == 3)
        let wait = try #require(run.retryTime).milliseconds - queue.now.milliseconds
        // 45 s ± 25 %.
        #expect((33_750...56_250).contains(wait))
    }

    @Test func `the last attempt gives the command up, and there is none behind it`() async throws {
        let queue = try queue { _ in throw CommandFailure(.command, reason: "again", delivery: .refused) }
        var options = SubmitOptions()
        options.retryLimit = 2
        #expect(try await queue.run("scripted", options: options, attempt: 3).outcome == .failed)
        let error = await #expect(throws: SluiceError.self) {
            try await queue.run("scripted", options: options, attempt: 4)
        }
        #expect(
            error?.message
                == "there is no attempt 4: with a retry limit of 2 a command has the attempts 1 to 3")
    }

    @Test func `a first attempt may have the checkpoint of an execution that was preempted`() async throws {
        let queue = try queue { execution in .array(execution.checkpoint?.map { .integer(Int64($0)) } ?? []) }
        let run = try await queue.run("scripted", checkpoint: [1, 2])
        #expect(run.outcome == .success([1, 2]))
        #expect(run.command.retries == 0)
    }

    @Test func `a preparation that fails ends the execution before it may have sent`() async throws {
        let failing = Scripted(
            isIdempotent: false, preparesBeforeSending: true,
            preparation: { _ in throw CommandFailure(.command, reason: "no source") })
        let queue = try TestQueue(operations: [failing])
        let run = try await queue.run("scripted")
        #expect(run.retryTime != nil)
        #expect(run.checkpoints.isEmpty)
    }

    @Test func `a payload that the operation refuses is not submitted`() async throws {
        let queue = try queue { _ in nil }
        let error = await #expect(throws: SluiceError.self) {
            try await queue.run("scripted", payload: ["wrong": 1])
        }
        #expect(error?.code == .invalid)
        #expect(queue.submitted().isEmpty)
    }

    @Test func `a command that waits cannot be run`() async throws {
        let queue = try queue { _ in nil }
        var options = SubmitOptions()
        options.notBefore = queue.now + .seconds(60)
        let id = try await queue.client.submit("scripted", payload: [:], options: options)
        let error = await #expect(throws: SluiceError.self) { try await queue.run(id) }
        #expect(error?.message == "command \(id) cannot run now: it is new until 2026-01-01T00:01:00.000Z")
        try queue.advance(by: .seconds(60))
        #expect(try await queue.run(id).outcome == .success(nil))
    }

    @Test func `two operations of one type, and a type of another form, are refused`() throws {
        let twice = #expect(throws: SluiceError.self) { try TestQueue(operations: [Scripted(), Scripted()]) }
        #expect(twice?.message == "two operations have the type “scripted”; remove one of them")
        #expect(throws: SluiceError.self) { try TestQueue(operations: [Scripted(type: "No Type")]) }
        #expect(throws: SluiceError.self) { try TestQueue().answer("No Type") { _ in nil } }
    }
}
