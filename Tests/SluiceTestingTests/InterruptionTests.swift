import SluiceTesting
import Synchronization
import Testing

@Suite struct InterruptionTests {
    /// Counts to ten, with a checkpoint and a report at each number.
    private func counting(isIdempotent: Bool = true, _ reached: Reached) -> Scripted {
        Scripted(
            isIdempotent: isIdempotent,
            body: { execution in
                for number in Int(execution.checkpoint?.first ?? 0) + 1...10 {
                    try Task.checkCancellation()
                    reached.numbers.withLock { $0.append(number) }
                    execution.progress(offset: Int64(number), total: 10)
                    try Task.checkCancellation()
                    try await execution.saveCheckpoint([UInt8(number)])
                }
                return ["count": 10]
            })
    }

    private final class Reached: Sendable {
        let numbers = Mutex<[Int]>([])
        var all: [Int] { numbers.withLock { $0 } }
    }

    private let reached = Reached()

    @Test func `a cancellation at the start ends the command before its operation does anything`() async throws {
        let queue = try TestQueue(operations: [counting(reached)])
        let run = try await queue.run("scripted", interruption: .cancel())
        #expect(run.outcome == .cancelled)
        #expect(run.wasInterrupted)
        #expect(run.reason == "cancelled by a person; may have been delivered")
        #expect(reached.all.isEmpty)
    }

    @Test(arguments: 1...9)
    func `an execution that is preempted at a checkpoint resumes there`(_ checkpoint: Int) async throws {
        let queue = try TestQueue(operations: [counting(reached)])
        let first = try await queue.run("scripted", interruption: .preempt(at: .checkpoint(checkpoint)))
        #expect(first.outcome == .released)
        #expect(first.command.status == .new)
        #expect(first.checkpoints.count == checkpoint)
        #expect(try await queue.drain().map(\.outcome) == [.success(["count": 10])])
        #expect(reached.all == Array(1...10))
    }

    @Test func `an execution stops at the offset of its interruption`() async throws {
        let queue = try TestQueue(operations: [counting(reached)])
        let run = try await queue.run("scripted", interruption: .cancel(at: .progress(4)))
        #expect(run.outcome == .cancelled)
        #expect(run.checkpoints == [[1], [2], [3]])
        #expect(reached.all == [1, 2, 3, 4])
    }

    @Test func `a command that is not idempotent is never preempted`() async throws {
        let queue = try TestQueue(operations: [counting(isIdempotent: false, reached)])
        let error = await #expect(throws: SluiceError.self) {
            try await queue.run("scripted", interruption: .preempt())
        }
        #expect(error?.code == .notAllowed)
    }

    @Test func `the death of a worker releases an idempotent command, whose writes have no effect any more`()
        async throws
    {
        let queue = try TestQueue(operations: [counting(reached)])
        let run = try await queue.run("scripted", interruption: .crash(at: .checkpoint(2)))
        #expect(run.outcome == .released)
        #expect(run.reason == "its worker died")
        #expect(run.command.suspect)
        #expect(try await queue.drain().map(\.attempt) == [2])
        #expect(reached.all == Array(1...10))
    }

    @Test func `the death of a worker puts a command in doubt that is not idempotent, until a person decides`()
        async throws
    {
        let queue = try TestQueue(operations: [counting(isIdempotent: false, reached)])
        let run = try await queue.run("scripted", interruption: .crash())
        #expect(run.outcome == .inDoubt)
        #expect(try await queue.drain(advancing: .seconds(86_400)).isEmpty)
        try await queue.client.resolve(run.command.id, as: .new)
        #expect(try await queue.drain().map(\.outcome) == [.success(["count": 10])])
    }

    @Test func `an execution that does not reach the point is not interrupted`() async throws {
        let queue = try TestQueue(operations: [counting(reached)])
        let run = try await queue.run("scripted", interruption: .crash(at: .checkpoint(11)))
        #expect(run.outcome == .success(["count": 10]))
        #expect(!run.wasInterrupted)
    }

    @Test func `an execution that does not stop for its cancellation stays a success`() async throws {
        let queue = try TestQueue(operations: [Scripted { _ in ["stubborn": true] }])
        let run = try await queue.run("scripted", interruption: .cancel())
        #expect(run.outcome == .success(["stubborn": true]))
        #expect(run.wasInterrupted)
    }

    @Test func `the client cancels a command while it runs`() async throws {
        let (started, start) = AsyncStream<CommandID>.makeStream()
        let queue = try TestQueue(operations: [
            Scripted { execution in
                start.yield(execution.id)
                let (never, end) = AsyncStream<Never>.makeStream()
                for await _ in never {}
                withExtendedLifetime(end) {}
                try Task.checkCancellation()
                return nil
            }
        ])
        let id = try await queue.client.submit("scripted", payload: [:])
        async let runs = queue.drain()
        for await running in started {
            #expect(running == id)
            let busy = await #expect(throws: SluiceError.self) { try await queue.drain() }
            #expect(busy?.code == .notAllowed)
            #expect(try await !queue.client.cancel(id))
            break
        }
        #expect(try await runs.map(\.outcome) == [.cancelled])
    }

    @Test func `a deadline that passes while a command runs cancels it, and an outage releases it`() async throws {
        let (started, start) = AsyncStream<Void>.makeStream()
        var running = Scripted { _ in
            start.yield()
            let (never, end) = AsyncStream<Never>.makeStream()
            for await _ in never {}
            withExtendedLifetime(end) {}
            throw CancellationError()
        }
        running.destination = .api
        let queue = try TestQueue(operations: [running])
        var options = SubmitOptions()
        options.deadline = queue.now + .seconds(60)
        let id = try await queue.client.submit("scripted", payload: [:], options: options)
        async let first = queue.drain()
        var starts = started.makeAsyncIterator()
        await starts.next()
        try queue.setNetwork(.offline, for: "https://api.example.com/v1")
        #expect(try await first.map(\.outcome) == [.released])
        #expect(try queue.status(of: id) == .new)

        try queue.setNetwork(.online)
        async let second = queue.drain()
        await starts.next()
        try queue.advance(by: .seconds(60))
        #expect(try await second.map(\.outcome) == [.cancelled])
    }
}
