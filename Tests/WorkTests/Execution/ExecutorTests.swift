import Commands
import Host
import Logging
import Store
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Membership
@testable import Operations
@testable import Work

@Suite struct ExecutorTests {
    @Test func `the executor claims, sends, executes and reports`() async throws {
        let bench = try Bench([Scripted(type: "a", body: { _ in Array("{\"ok\":true}".utf8) })])
        let id = try bench.submit("a")
        bench.offer(id, "a")
        try await bench.reach(.success, id)
        #expect(try bench.statuses(id) == [.new, .queued, .sent, .success])
        #expect(try bench.store.result(id) == Array("{\"ok\":true}".utf8))
        await bench.executor.idle()
        let (state, reports, _) = bench.executor.takeReports()
        #expect(reports.map(\.event.transition.status) == [.queued, .sent, .success])
        #expect(state.completed == 1)
        #expect(state.resolved == 1)
        await bench.close()
    }

    @Test func `a checkpoint is durable before its execution goes on, and reaches the next one`() async throws {
        let seen = Mutex<[[UInt8]?]>([])
        let bench = try Bench([
            Scripted(
                type: "a",
                body: { execution in
                    seen.withLock { $0.append(execution.checkpoint) }
                    guard execution.checkpoint == nil else { return nil }
                    async let first: Void = execution.saveCheckpoint([1])
                    async let second: Void = execution.saveCheckpoint([1])
                    _ = try await (first, second)
                    try await execution.saveCheckpoint([1, 2])
                    throw CommandFailure(.link, reason: "cut")
                })
        ])
        let id = try bench.submit("a", to: Destination(scheme: "http", host: "h", port: 80))
        bench.offer(id, "a")
        try await until("the release") {
            let command = try bench.command(id)
            return command.claim == 1 && command.status == .new
        }
        await bench.executor.idle()
        bench.offer(id, "a")
        try await bench.reach(.success, id)
        #expect(seen.withLock { $0 } == [nil, [1, 2]])
        await bench.close()
    }

    @Test func `an execution with progress counts no failures, and one without it counts again`() async throws {
        let offsets: [Int64] = [100, 200, 200, 150, 200]
        let bench = try Bench([
            Scripted(
                type: "a",
                body: { execution in
                    #expect(execution.checkpoint == (execution.claim == 1 ? nil : Array("{}".utf8)))
                    try await execution.saveCheckpoint(Array("{}".utf8))
                    execution.canResume()
                    execution.progress(offset: offsets[execution.claim - 1], total: 1000)
                    var failure = CommandFailure(.command, reason: "cut")
                    failure.backoff = .zero
                    throw failure
                })
        ])
        let id = try bench.submit("a")
        for (execution, retries) in [0, 0, 1, 2, 3].enumerated() {
            bench.offer(id, "a")
            try await until("execution \(execution + 1)") {
                let command = try bench.command(id)
                return command.claim == execution + 1 && command.status == .error
            }
            await bench.executor.idle()
            #expect(try bench.command(id).retries == retries)
        }
        await bench.close()
    }

    @Test func `a replaced execution cannot save a checkpoint`() async throws {
        let outcome = Mutex<(any Error)?>(nil)
        let reference = Mutex<Bench?>(nil)
        let bench = try Bench([
            Scripted(
                type: "a",
                body: { execution in
                    try reference.withLock { try $0?.replace(execution.id) }
                    do { try await execution.saveCheckpoint([1]) } catch {
                        outcome.withLock { $0 = error }
                        throw error
                    }
                    return nil
                })
        ])
        reference.withLock { $0 = bench }
        let id = try bench.submit("a")
        bench.offer(id, "a")
        try await until("the refusal") { outcome.withLock { $0 is CancellationError } }
        await bench.executor.idle()
        #expect(try bench.command(id).claim == 2)
        reference.withLock { $0 = nil }
        await bench.close()
    }

    @Test func `the preparation runs before sent is committed`() async throws {
        let seen = Mutex<[CommandStatus?]>([])
        let reference = Mutex<Bench?>(nil)
        let look: @Sendable (CommandExecution) -> Void = { execution in
            let status = reference.withLock { try? $0?.store.command(execution.id)?.status }
            seen.withLock { $0.append(status) }
        }
        let bench = try Bench([
            Scripted(
                type: "a", preparesBeforeSending: true,
                body: { execution in
                    look(execution)
                    return nil
                }, preparation: { look($0) })
        ])
        reference.withLock { $0 = bench }
        let id = try bench.submit("a")
        bench.offer(id, "a")
        try await bench.reach(.success, id)
        #expect(seen.withLock { $0 } == [.queued, .sent])
        reference.withLock { $0 = nil }
        await bench.close()
    }

    @Test func `a failed preparation is not ambiguous, whatever the command`() async throws {
        let bench = try Bench([
            Scripted(
                type: "a", preparesBeforeSending: true,
                preparation: { _ in throw CommandFailure(.final, reason: "the source is gone") })
        ])
        let id = try bench.submit("a", idempotent: false)
        bench.offer(id, "a")
        try await bench.reach(.tooManyTimes, id)
        #expect(try bench.statuses(id) == [.new, .queued, .error, .tooManyTimes])
        await bench.close()
    }

    @Test func `a reset connection is the link's fault, and the command's after a success at the destination`()
        async throws
    {
        let host = Destination(scheme: "http", host: "h", port: 80)
        let bench = try Bench([
            Scripted(type: "cut", body: { _ in throw CommandFailure(.reset, reason: "cut off", ambiguous: true) }),
            Scripted(type: "fine"),
        ])
        let first = try bench.submit("cut", to: host)
        bench.offer(first, "cut")
        try await until("the first end") { try bench.statuses(first) == [.new, .queued, .sent, .new] }
        #expect(try bench.command(first).retries == 0)
        let fine = try bench.submit("fine", to: host)
        bench.offer(fine, "fine")
        try await bench.reach(.success, fine)
        let second = try bench.submit("cut", to: host)
        bench.offer(second, "cut")
        try await bench.reach(.error, second)
        #expect(try bench.command(second).retries == 1)
        // A command without a destination has no link to blame, and waits for its backoff.
        let alone = try bench.submit("cut")
        bench.offer(alone, "cut")
        try await bench.reach(.error, alone)
        #expect(try bench.command(alone).notBefore > .now)
        await bench.executor.idle()
        let faults = bench.executor.takeReports().1.compactMap(\.fault)
        #expect(faults == [.link, .command, .command])
        await bench.close()
    }

    @Test func `resets of several connections are the link's fault, and a reset beside a running one is not`()
        async throws
    {
        let host = Destination(scheme: "http", host: "h", port: 80)
        let isCut = Mutex(false)
        let finish = AsyncStream<Void>.makeStream()
        let bench = try Bench([
            Scripted(
                type: "cut",
                body: { _ in
                    try await until("the cut") { isCut.withLock { $0 } }
                    throw CommandFailure(.reset, reason: "cut off", ambiguous: true)
                }),
            Scripted(
                type: "lasting",
                body: { _ in
                    for await _ in finish.stream { break }
                    return nil
                }), Scripted(type: "fine"),
        ])
        let fine = try bench.submit("fine", to: host)
        bench.offer(fine, "fine")
        try await bench.reach(.success, fine)
        let both = try (1...2).map { _ in try bench.submit("cut", to: host) }
        for id in both { bench.offer(id, "cut") }
        for id in both { try await bench.reach(.sent, id) }
        isCut.withLock { $0 = true }
        for id in both {
            try await until("its end") { try bench.statuses(id) == [.new, .queued, .sent, .new] }
            #expect(try bench.command(id).retries == 0)
        }
        let beside = try bench.submit("lasting", to: host)
        bench.offer(beside, "lasting")
        try await bench.reach(.sent, beside)
        let single = try bench.submit("cut", to: host)
        bench.offer(single, "cut")
        try await bench.reach(.error, single)
        #expect(try bench.command(single).retries == 1)
        finish.continuation.yield()
        try await bench.reach(.success, beside)
        await bench.executor.idle()
        await bench.close()
    }

    @Test func `an error that is not a CommandFailure is charged`() async throws {
        struct Odd: Error {}
        let bench = try Bench([Scripted(type: "a", body: { _ in throw Odd() })])
        let id = try bench.submit("a")
        bench.offer(id, "a")
        try await bench.reach(.error, id)
        #expect(try bench.command(id).retries == 1)
        await bench.close()
    }

    /// The worker told executions apart by their object, and one with a resolved payload is a copy. The other comparisons of
    /// objects in Sources are of connections, exchanges, timers and calls, which are never copied.
    @Test func `the result of another command reaches an operation that prepares`() async throws {
        final class Slot: Sendable {
            let free: @Sendable () -> Void
            init(free: @escaping @Sendable () -> Void) { self.free = free }
            deinit { free() }
        }
        let freed = Mutex(0)
        let seen = Mutex<[String]>([])
        let isHeld = Mutex(false)
        let bench = try Bench([
            Scripted(type: "a", body: { _ in Array(#"{"path":"/x"}"#.utf8) }),
            Scripted(
                type: "b", preparesBeforeSending: true,
                body: { execution in
                    seen.withLock { $0.append(String(decoding: execution.payload, as: UTF8.self)) }
                    isHeld.withLock { $0 = freed.withLock { $0 == 0 } }
                    return nil
                },
                preparation: { execution in execution.hold(Slot { freed.withLock { $0 += 1 } }) }),
        ])
        func draft(_ type: String, _ payload: String) -> CommandDraft {
            CommandDraft(type: type, payload: Array(payload.utf8), destination: .none, idempotent: true)
        }
        let reference = draft("b", #"{"file":{"$result":"a/path"}}"#)
        let flow = FlowDraft(
            "test", nodes: [FlowNode("a", draft("a", "{}")), FlowNode("b", reference, after: ["a": .success])])
        let id = try bench.store.submit(FlowPlan(flow), allowUnknownTypes: false).submission.id
        let nodes = try bench.store.flowNodes(id, after: 0, limit: 9).map(\.command.id)
        bench.offer(nodes[0], "a")
        try await bench.reach(.success, nodes[0])
        bench.offer(nodes[1], "b")
        try await until("its end") { [.success, .error].contains(try bench.command(nodes[1]).status) }
        #expect(try bench.statuses(nodes[1]) == [.blocked, .new, .queued, .sent, .success])
        #expect(seen.withLock { $0 } == [#"{"file":"/x"}"#])
        #expect(isHeld.withLock { $0 }, "the object that the preparation held")
        await bench.executor.idle()
        await bench.close()
    }

    /// Every error that an operation lets through becomes a reason here.
    @Test func `a reason names the operation, and is not a bare error of the language`() async throws {
        enum Odd: Error { case diskIsGone }
        let errors: [(any Error, String)] = [
            (CancellationError(), "the operation “a” gave up a part of its work, although it was not told to stop"),
            (Odd.diskIsGone, "the operation “a” failed: disk is gone"),
            (CommandFailure(.command, reason: "as it is"), "as it is"),
        ]
        for (error, reason) in errors {
            let bench = try Bench([Scripted(type: "a", body: { _ in throw error })])
            let id = try bench.submit("a")
            bench.offer(id, "a")
            try await bench.reach(.error, id)
            #expect(try bench.command(id).reason == reason)
            await bench.close()
        }
    }

    @Test func `an ambiguous end of a command that is not idempotent is in doubt`() async throws {
        let bench = try Bench([
            Scripted(type: "a", body: { _ in throw CommandFailure(.link, reason: "reset", ambiguous: true) })
        ])
        let id = try bench.submit("a", idempotent: false)
        bench.offer(id, "a")
        try await bench.reach(.inDoubt, id)
        await bench.close()
    }

    @Test func `an end that cannot be written stays in the log of started executions`() async throws {
        let directory = try TemporaryDirectory("started")
        defer { directory.remove() }
        let bench = try Bench([Scripted(type: "a")], intentLog: directory.path) {
            if case .end = $0 { true } else { false }
        }
        let id = try bench.submit("a", idempotent: false)
        bench.offer(id, "a")
        try await bench.reach(.sent, id)
        await bench.executor.idle()
        #expect(try bench.command(id).status == .sent)
        #expect(
            IntentLog.read(in: RunDirectory(path: directory.path), seat: 0, epoch: 5)
                == StartedExecutions(ended: [id]))
        await bench.close()
    }

    @Test func `an offset that cannot be written does not stop its execution`() async throws {
        let go = AsyncStream<Void>.makeStream()
        let moved = AsyncStream<Void>.makeStream()
        let failures = Mutex(0)
        let bench = try Bench([
            Scripted(
                type: "a",
                body: { execution in
                    execution.progress(offset: 1000, total: 2000)
                    moved.continuation.yield()
                    for await _ in go.stream { break }
                    return nil
                }), Scripted(type: "b"),
        ]) { write in
            guard case .offset = write else { return false }
            failures.withLock { $0 += 1 }
            return true
        }
        let id = try bench.submit("a")
        bench.offer(id, "a")
        var iterator = moved.stream.makeAsyncIterator()
        await iterator.next()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            bench.executor.takeTransfers(elapsed: .milliseconds(500)) { _ in continuation.resume() }
        }
        func submitBeside() throws -> CommandID {
            while true {
                let other = try bench.submit("b")
                if other.shard(of: 2) == id.shard(of: 2) { return other }
            }
        }
        // The claim in the same commit is given up; then the offset fails alone.
        bench.offer(try submitBeside(), "b")
        try await until("both failures") { failures.withLock { $0 == 2 } }
        let next = try submitBeside()
        bench.offer(next, "b")
        try await bench.reach(.success, next)
        go.continuation.yield()
        try await bench.reach(.success, id)
        await bench.close()
    }

    @Test func `bytes are counted by destination`() async throws {
        let go = AsyncStream<Void>.makeStream()
        let moved = AsyncStream<Void>.makeStream()
        let bench = try Bench([
            Scripted(
                type: "a",
                body: { execution in
                    execution.transferred(1000)
                    execution.progress(offset: 1000, total: 2000)
                    moved.continuation.yield()
                    for await _ in go.stream { break }
                    return nil
                })
        ])
        let id = try bench.submit("a")
        bench.offer(id, "a")
        var iterator = moved.stream.makeAsyncIterator()
        await iterator.next()
        let transfers = await withCheckedContinuation { continuation in
            bench.executor.takeTransfers(elapsed: .milliseconds(500)) { continuation.resume(returning: $0) }
        }
        #expect(
            transfers.links == [
                .init(destination: .none, direction: .up, bytes: [0, 1000, 0], rate: 2000, inFlight: 1)
            ])
        let transfer = try #require(transfers.transfers.first)
        #expect(transfers.transfers.count == 1)
        #expect(transfer.id == id)
        #expect(transfer.claim == 1)
        #expect([transfer.offset, transfer.total, transfer.rate, transfer.acknowledged] == [1000, 2000, 2000, 1000])
        go.continuation.yield()
        try await bench.reach(.success, id)
        await bench.close()
    }
}
