import Commands
import Dispatch
import Logging
import Store
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Operations
@testable import Work

/// Cancellation, drain and the loss of a command.
@Suite struct ExecutorStopTests {
    @Test func `a cancellation stops the operation`() async throws {
        let bench = try Bench([
            Scripted(
                type: "a",
                body: { _ in
                    try await Task.sleep(for: .seconds(600))
                    return nil
                })
        ])
        let id = try bench.submit("a")
        bench.offer(id, "a")
        try await bench.reach(.sent, id)
        try bench.cancel(id)
        try await bench.reach(.cancelled, id)
        await bench.close()
    }

    @Test func `a success that the destination gave already wins over a cancellation`() async throws {
        let started = AsyncStream<Void>.makeStream()
        let bench = try Bench([
            Scripted(
                type: "a",
                body: { _ in
                    started.continuation.yield()
                    // Ignores the cancellation: the destination confirmed before it was requested.
                    while !Task.isCancelled { await Task.yield() }
                    return nil
                })
        ])
        let id = try bench.submit("a")
        bench.offer(id, "a")
        var iterator = started.stream.makeAsyncIterator()
        await iterator.next()
        try bench.cancel(id)
        try await bench.reach(.success, id)
        await bench.close()
    }

    @Test func `a drain releases low quality at once and lets the rest end`() async throws {
        let finish = AsyncStream<Void>.makeStream()
        let started = Mutex(0)
        let bench = try Bench([
            Scripted(
                type: "a",
                body: { execution in
                    started.withLock { $0 += 1 }
                    if execution.command.qos.serviceClass == .low {
                        try await Task.sleep(for: .seconds(600))
                    } else {
                        for await _ in finish.stream { break }
                    }
                    return nil
                })
        ])
        let low = try bench.submit("a", qos: .background)
        let middle = try bench.submit("a")
        bench.offer(low, "a", qos: .background)
        bench.offer(middle, "a")
        try await until("both operations") { started.withLock { $0 } == 2 }
        bench.executor.drain()
        try await bench.reach(.new, low)
        #expect(try bench.command(middle).status == .sent)
        #expect(try bench.command(low).retries == 0)
        finish.continuation.yield()
        try await bench.reach(.success, middle)
        await bench.executor.idle()
        #expect(bench.executor.workerState.phase == .draining)
        await bench.close()
    }

    @Test func `a command of low quality that is not idempotent has the grace of the others`() async throws {
        let finish = AsyncStream<Void>.makeStream()
        let started = Mutex(false)
        let bench = try Bench([
            Scripted(
                type: "a",
                body: { _ in
                    started.withLock { $0 = true }
                    for await _ in finish.stream { break }
                    try Task.checkCancellation()
                    return nil
                })
        ])
        let id = try bench.submit("a", qos: .background, idempotent: false)
        bench.offer(id, "a", qos: .background)
        try await until("its operation") { started.withLock { $0 } }
        bench.executor.drain()
        finish.continuation.yield()
        try await bench.reach(.success, id)
        await bench.close()
    }

    @Test func `a command whose operation was not called yet is released, and not in doubt`() async throws {
        let threads = HeldThreads()
        let bench = try Bench([Scripted(type: "a", body: { _ in nil })], operationExecutor: threads)
        let id = try bench.submit("a", idempotent: false)
        bench.offer(id, "a")
        try await bench.reach(.sent, id)
        try await until("its task") { threads.count > 0 }
        bench.executor.drain()
        bench.executor.stopAll()
        // The cancellation reaches the task before a thread does.
        await bench.executor.cancellations()
        threads.release()
        await bench.executor.idle()
        #expect(try bench.command(id).status == .new)
        await bench.close()
    }

    @Test func `a cancellation handler that blocks delays no other command`() async throws {
        let blocked = DispatchSemaphore(value: 0)
        let bench = try Bench([
            Scripted(
                type: "blocks",
                body: { _ in
                    try await withTaskCancellationHandler {
                        try await Task.sleep(for: .seconds(600))
                    } onCancel: {
                        blocked.wait()
                    }
                    return nil
                }), Scripted(type: "a", body: { _ in nil }),
        ])
        let first = try bench.submit("blocks")
        bench.offer(first, "blocks")
        try await bench.reach(.sent, first)
        try bench.cancel(first)
        let second = try bench.submit("a")
        bench.offer(second, "a")
        try await bench.reach(.success, second)
        blocked.signal()
        try await bench.reach(.cancelled, first)
        await bench.close()
    }

    @Test func `operations that block their threads do not stop each other or the pool`() async throws {
        let go = DispatchSemaphore(value: 0)
        let bench = try Bench(
            [
                Scripted(
                    type: "a",
                    body: { _ in
                        go.wait()
                        return nil
                    })
            ], concurrency: 8, operationExecutor: OperationExecutor(maxThreads: 8))
        let ids = try (0..<8).map { _ in try bench.submit("a") }
        for id in ids { bench.offer(id, "a") }
        for id in ids { try await bench.reach(.sent, id) }
        for _ in ids { go.signal() }
        for id in ids { try await bench.reach(.success, id) }
        await bench.close()
    }

    @Test func `when the grace is over the rest is released`() async throws {
        let bench = try Bench([
            Scripted(
                type: "a",
                body: { _ in
                    try await Task.sleep(for: .seconds(600))
                    return nil
                })
        ])
        let id = try bench.submit("a")
        bench.offer(id, "a")
        try await bench.reach(.sent, id)
        bench.executor.drain()
        bench.executor.stopAll()
        await bench.executor.idle()
        #expect(try bench.command(id).status == .new)
        await bench.close()
    }

    @Test func `an end after another worker took over is not written`() async throws {
        let go = AsyncStream<Void>.makeStream()
        let bench = try Bench([
            Scripted(
                type: "a",
                body: { _ in
                    for await _ in go.stream { break }
                    return nil
                })
        ])
        let id = try bench.submit("a")
        bench.offer(id, "a")
        try await bench.reach(.sent, id)
        // The coordinator counts the worker as dead and releases its commands.
        try bench.store.reap(seat: 0, epoch: 5, DeathVerdict(charges: false, reason: "test")) { _ in }
        go.continuation.yield()
        await bench.executor.idle()
        #expect(try bench.command(id).status == .new)
        await bench.close()
    }

    /// Blocks the commit of the first write that `isMeant` finds, until it is opened.
    private final class CommitGate: Sendable {
        private let isMeant: @Sendable (ExecutionWrite) -> Bool
        private let reached = AsyncStream<Void>.makeStream()
        private let opening = DispatchSemaphore(value: 0)
        private let isPassed = Mutex(false)

        init(_ isMeant: @escaping @Sendable (ExecutionWrite) -> Bool) { self.isMeant = isMeant }

        func pass(_ write: ExecutionWrite) {
            guard isMeant(write),
                isPassed.withLock({ passed in
                    defer { passed = true }
                    return !passed
                })
            else { return }
            reached.continuation.finish()
            opening.wait()
        }

        func isReached() async { for await _ in reached.stream {} }
        func open() { opening.signal() }
    }

    @Test func `a command whose claim is committed after the drain began is released unstarted`() async throws {
        let gate = CommitGate { if case .claim = $0 { true } else { false } }
        let executed = Mutex(false)
        let operation = Scripted(
            type: "a",
            body: { _ in
                executed.withLock { $0 = true }
                return nil
            })
        let bench = try Bench([operation]) { write in
            gate.pass(write)
            return false
        }
        let id = try bench.submit("a", idempotent: false)
        bench.offer(id, "a")
        await gate.isReached()
        bench.executor.drain()
        gate.open()
        await bench.executor.idle()
        let command = try bench.command(id)
        #expect(command.status == .new && command.claim == 1 && command.retries == 0)
        #expect(!executed.withLock { $0 })
        await bench.close()
    }

    @Test func `a command that is cancelled while sent is committed is not executed`() async throws {
        let gate = CommitGate { if case .sent = $0 { true } else { false } }
        let executed = Mutex(false)
        let operation = Scripted(
            type: "a", preparesBeforeSending: true,
            body: { _ in
                executed.withLock { $0 = true }
                return nil
            })
        let bench = try Bench([operation]) { write in
            gate.pass(write)
            return false
        }
        let id = try bench.submit("a")
        bench.offer(id, "a")
        await gate.isReached()
        try bench.cancel(id)
        gate.open()
        try await bench.reach(.cancelled, id)
        #expect(try bench.statuses(id) == [.new, .queued, .cancelled])
        #expect(!executed.withLock { $0 })
        await bench.executor.idle()
        await bench.close()
    }
}
