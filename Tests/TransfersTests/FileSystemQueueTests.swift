import Commands
import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing
import Transfers

/// The threads of one file system, and calls that it does not answer.
@Suite struct FileSystemQueueTests {
    /// A call that hangs until it is released.
    private final class Hang: Sendable {
        private let gate = DispatchSemaphore(value: 0)
        private let started = Atomic<Int>(0)
        private let ended = Atomic<Int>(0)

        var startedCount: Int { started.load(ordering: .acquiring) }
        var endedCount: Int { ended.load(ordering: .acquiring) }

        func call() {
            started.add(1, ordering: .releasing)
            gate.wait()
            ended.add(1, ordering: .releasing)
        }

        func release(_ count: Int) { for _ in 0..<count { gate.signal() } }
    }

    @Test func `calls run concurrently up to the limit and return results and errors`() async throws {
        let queue = FileSystemQueue(name: "/mnt/x", maxThreads: 3, callTimeout: .seconds(30))
        let hang = Hang()
        let calls = (0..<5).map { number in
            Task {
                try await queue.run { _ in
                    hang.call()
                    return number
                }
            }
        }
        try await until("three calls") { hang.startedCount == 3 }
        hang.release(5)
        for (number, call) in calls.enumerated() { #expect(try await call.value == number) }
        await #expect(throws: Missed.self) { try await queue.run { _ in throw Missed("thrown") } }
    }

    @Test func `a cancelled call is answered while it hangs, and its late result is cleaned up`()
        async throws
    {
        let queue = FileSystemQueue(name: "/mnt/x", maxThreads: 1, callTimeout: .seconds(30))
        let hang = Hang()
        let onLateResult = Atomic<Int>(0)
        let publishes = Atomic<Bool>(false)
        let hung = Task {
            try await queue.run(
                { call in
                    hang.call()
                    publishes.store(call.isWanted, ordering: .releasing)
                    return 7
                }, onLateResult: { onLateResult.store($0, ordering: .releasing) })
        }
        try await until("the call") { hang.startedCount == 1 }
        let waiting = Task { try await queue.run { _ in 8 } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let began = ContinuousClock.now
        hung.cancel()
        await #expect(throws: CancellationError.self) { try await hung.value }
        #expect(ContinuousClock.now - began < .seconds(3))
        #expect(hang.endedCount == 0)
        hang.release(1)
        try await until("the late result") { onLateResult.load(ordering: .acquiring) == 7 }
        let isPublished = publishes.load(ordering: .acquiring)
        #expect(!isPublished)
        #expect(try await queue.run { _ in 9 } == 9, "the queue works again")
    }

    @Test func `a cancelled call that ends within the cancellation timeout returns its result`() async throws {
        let queue = FileSystemQueue(name: "/mnt/x", maxThreads: 1, callTimeout: .seconds(30))
        let hang = Hang()
        let call = Task {
            try await queue.run { _ in
                hang.call()
                return 7
            }
        }
        try await until("the call") { hang.startedCount == 1 }
        call.cancel()
        hang.release(1)
        #expect(try await call.value == 7)
    }

    @Test(.enabled(if: runsSlowTests, "slow"), .timeLimit(.minutes(2)))
    func `a silent file system is named, and its new calls are refused at once, uncharged, until it answers`()
        async throws
    {
        let queue = FileSystemQueue(name: "/mnt/x", maxThreads: 2, callTimeout: .seconds(30))
        let hang = Hang()
        let hung = (0..<2).map { _ in Task { try await queue.run { _ in hang.call() } } }
        try await until("two calls") { hang.startedCount == 2 }
        // A waiting call is refused after the silence timeout.
        let began = ContinuousClock.now
        let refused = await #expect(throws: CommandFailure.self) { try await queue.run { _ in } }
        #expect((.seconds(4)...(.seconds(20))).contains(ContinuousClock.now - began))
        #expect(refused?.fault == .link)
        #expect(refused?.retryAfter == .seconds(5))
        #expect(refused?.reason.hasPrefix("the file system at /mnt/x has not answered for ") == true)
        // A later call is refused at once.
        let later = ContinuousClock.now
        await #expect(throws: CommandFailure.self) { try await queue.run { _ in } }
        #expect(ContinuousClock.now - later < .seconds(1))
        // A clean-up is not refused. It runs when the file system answers again.
        let isCleanedUp = Atomic<Bool>(false)
        await queue.cleanUp { isCleanedUp.store(true, ordering: .releasing) }
        let isDone = isCleanedUp.load(ordering: .acquiring)
        #expect(!isDone)
        hang.release(2)
        for call in hung { try await call.value }
        try await until("the clean-up") { isCleanedUp.load(ordering: .acquiring) }
        try await queue.run { _ in }
    }

    @Test(.enabled(if: runsSlowTests, "slow"), .timeLimit(.minutes(1)))
    func `a hung call is answered after the call timeout, and its thread is not used again`() async throws {
        let queue = FileSystemQueue(name: "/mnt/x", maxThreads: 1, callTimeout: .seconds(1))
        let hang = Hang()
        let began = ContinuousClock.now
        let failure = await #expect(throws: CommandFailure.self) { try await queue.run { _ in hang.call() } }
        #expect(failure?.fault == .link && failure?.isAnswer == true)
        #expect(ContinuousClock.now - began >= .seconds(4))
        #expect(hang.startedCount == 1 && hang.endedCount == 0)
        await #expect(throws: CommandFailure.self) { try await queue.run { _ in } }
        hang.release(1)
        try await until("the queue") { (try? await queue.run { _ in true }) ?? false }
    }
}
