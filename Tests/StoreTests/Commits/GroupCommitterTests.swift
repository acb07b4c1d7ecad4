import Commands
import Host
import Synchronization
import Testing

@testable import Store
@testable import Work

@Suite struct GroupCommitterTests {
    private typealias Committer = GroupCommitter<ExecutionWrite, CommitOutcome>

    /// A committer whose claims are optional, as that of a worker.
    private static func committer() -> Committer {
        Committer(
            named: "commit", policy: .untilCommitted, slots: MonotonicSemaphore(value: 2),
            isOptional: { if case .claim = $0 { true } else { false } })
    }

    private func id(_ number: UInt64) -> CommandID { CommandID(high: 0, low: number) }

    /// Collects what a committer delivers.
    private final class Deliveries: Sendable {
        private let batches = Mutex<[Committer.Batch]>([])
        private let stream = AsyncStream<Void>.makeStream()

        func add(_ batch: Committer.Batch) {
            batches.withLock { $0.append(batch) }
            stream.continuation.yield()
        }

        func first(_ count: Int) async -> [Committer.Batch] {
            var iterator = stream.stream.makeAsyncIterator()
            while batches.withLock({ $0.count }) < count { await iterator.next() }
            return batches.withLock { $0 }
        }
    }

    @Test func `writes that come during a commit share the next one`() async {
        let committer = Self.committer()
        let deliveries = Deliveries()
        let gate = AsyncStream<Void>.makeStream()
        let sizes = Mutex<[Int]>([])
        let held = Mutex(true)
        committer.start(
            commit: { gather, _ in
                let writes = gather()
                sizes.withLock { $0.append(writes.count) }
                if held.withLock({ $0 }) {
                    gate.continuation.yield()
                    while held.withLock({ $0 }) {}
                }
                return CommitOutcome(writes.map { _ in .refused })
            }, deliver: { deliveries.add($0) })
        committer.add(.claim(id(1), sent: true))
        var started = gate.stream.makeAsyncIterator()
        await started.next()
        for number: UInt64 in 2...6 { committer.add(.claim(id(number), sent: true)) }
        held.withLock { $0 = false }
        _ = await deliveries.first(2)
        await committer.close()
        #expect(sizes.withLock { $0 } == [1, 5])
    }

    @Test func `offsets go along and cause no commit`() async {
        let committer = Self.committer()
        let deliveries = Deliveries()
        committer.addToNextCommit(.offset(id(1), claim: 1, offset: 5, total: 10), of: id(1))
        committer.addToNextCommit(.offset(id(1), claim: 1, offset: 7, total: 10), of: id(1))
        committer.start(
            commit: { writes, _ in CommitOutcome(writes().map { _ in .refused }) }, deliver: { deliveries.add($0) })
        committer.add(.claim(id(2), sent: true))
        let batches = await deliveries.first(1)
        await committer.close()
        #expect(
            batches.map(\.writes) == [[.offset(id(1), claim: 1, offset: 7, total: 10), .claim(id(2), sent: true)]])
    }

    @Test func `an end is retried until it is committed, and a claim is given up`() async {
        let committer = Self.committer()
        let deliveries = Deliveries()
        let failures = Mutex(2)
        committer.add(.claim(id(1), sent: true))
        committer.add(.end(id(2), claim: 1, .success(result: nil)))
        committer.start(
            commit: { gather, _ throws(StoreError) in
                let writes = gather()
                let fails = failures.withLock { left in
                    defer { left = max(left - 1, 0) }
                    return left > 0
                }
                if fails { throw StoreError(.full, "the disk is full") }
                return CommitOutcome(writes.map { _ in .done([], retries: 0) })
            }, deliver: { deliveries.add($0) })
        let batches = await deliveries.first(3)
        await committer.close()
        #expect(batches.first?.writes == [.claim(id(1), sent: true)])
        #expect(batches.first?.outcomes == nil)
        #expect(batches.last?.writes == [.end(id(2), claim: 1, .success(result: nil))])
        #expect(batches.last?.outcomes == CommitOutcome([.done([], retries: 0)]))
    }

    @Test func `writes to a damaged shard are not retried for ever`() async {
        let committer = Self.committer()
        let deliveries = Deliveries()
        committer.add(.end(id(2), claim: 1, .success(result: nil)))
        committer.start(
            commit: { _, _ throws(StoreError) in throw StoreError(.corrupt, "malformed", shard: 0) },
            deliver: { deliveries.add($0) })
        let batches = await deliveries.first(1)
        await committer.close()
        #expect(batches.first?.error?.code == .corrupt)
        #expect(batches.first?.writes.count == 1)
    }

    @Test(arguments: [false, true])
    func `a write that cannot be committed fails alone, and claims with it`(_ isClaim: Bool) async {
        let committer = Self.committer()
        let deliveries = Deliveries()
        let ids = (1...4).map { id($0) }
        let bad = isClaim ? ids[0] : ids[2]
        committer.add(.claim(ids[0], sent: true))
        for id in ids.dropFirst() { committer.add(.end(id, claim: 1, .success(result: nil))) }
        committer.start(
            commit: { gather, _ throws(StoreError) in
                let writes = gather()
                if writes.contains(where: { $0.id == bad }) { throw StoreError(.corrupt, "malformed", shard: 0) }
                return CommitOutcome(writes.map { _ in .done([], retries: 0) })
            }, deliver: { deliveries.add($0) })
        await committer.close()
        let batches = await deliveries.first(0)
        if isClaim {
            #expect(batches.map { $0.writes.map(\.id) } == [[ids[0]], Array(ids[1...])])
            #expect(batches.map { $0.outcomes?.count } == [nil, 3])
        } else {
            #expect(batches.map { $0.writes.map(\.id) } == ids.map { [$0] })
            #expect(batches.map { $0.outcomes?.count } == [nil, 1, nil, 1])
        }
    }

    @Test func `a shard that another process keeps locked gets no claims, and its ends wait`() async {
        let committer = Self.committer()
        let deliveries = Deliveries()
        let isFree = Mutex(false)
        let tries = Mutex(0)
        let ends = AsyncStream<Void>.makeStream()
        committer.start(
            commit: { gather, attempt throws(StoreError) in
                let writes = gather()
                #expect(attempt.timeout == .seconds(1))
                if isFree.withLock({ $0 }) { return CommitOutcome(writes.map { _ in .done([], retries: 0) }) }
                let isFirst = tries.withLock { tries in
                    tries += 1
                    return tries == 1
                }
                // While this waits, another claim comes.
                if isFirst { committer.add(.claim(id(3), sent: true)) } else { ends.continuation.yield() }
                throw StoreError(.busy, "locked", shard: 0)
            }, deliver: { deliveries.add($0) })
        committer.add([.claim(id(1), sent: true), .end(id(2), claim: 1, .success(result: nil))])
        let given = await deliveries.first(1)
        #expect(given.first?.writes == [.claim(id(1), sent: true), .claim(id(3), sent: true)])
        #expect(given.first?.outcomes == nil && given.first?.error?.code == .busy)
        #expect(committer.isLocked)
        // It is retried, and no failure is delivered again.
        var again = ends.stream.makeAsyncIterator()
        for _ in 0..<2 { await again.next() }
        isFree.withLock { $0 = true }
        let delivered = await deliveries.first(2)
        #expect(delivered.last?.writes == [.end(id(2), claim: 1, .success(result: nil))])
        #expect(delivered.last?.outcomes == CommitOutcome([.done([], retries: 0)]))
        #expect(!committer.isLocked)
        await committer.close()
    }

    @Test func `a locked shard without writes is tried until it is free`() async {
        let committer = Self.committer()
        let deliveries = Deliveries()
        let tries = Mutex<[(writes: Int, timeout: Duration)]>([])
        committer.start(
            commit: { gather, attempt throws(StoreError) in
                let writes = gather()
                let count = tries.withLock { tries in
                    tries.append((writes.count, attempt.timeout))
                    return tries.count
                }
                if count > 3 { return CommitOutcome(writes.map { _ in .refused }) }
                throw StoreError(.busy, "locked", shard: 0)
            }, deliver: { deliveries.add($0) })
        committer.add(.claim(id(1), sent: true))
        let batches = await deliveries.first(2)
        await committer.close()
        #expect(batches.map(\.writes) == [[.claim(id(1), sent: true)], []])
        #expect(batches.map { $0.error?.code } == [.busy, nil])
        #expect(batches.last?.outcomes?.isEmpty == true && !committer.isLocked)
        #expect(tries.withLock { $0.map(\.writes) } == [1, 0, 0, 0])
        #expect(
            tries.withLock { $0.map(\.timeout) } == [.seconds(1)] + [Duration](repeating: .milliseconds(20), count: 3))
    }

    @Test func `writes wait for a store whose server is away, and claims are given up`() async {
        let committer = Self.committer()
        let deliveries = Deliveries()
        let tries = Mutex<[(writes: [ExecutionWrite], timeout: Duration)]>([])
        let ends = (1...4).map { ExecutionWrite.end(id($0), claim: 1, .success(result: nil)) }
        committer.add(ends[0])
        committer.add(.claim(id(9), sent: true))
        committer.add(ends[1])
        committer.start(
            commit: { gather, attempt throws(StoreError) in
                let writes = gather()
                let count = tries.withLock { tries in
                    tries.append((writes, attempt.timeout))
                    return tries.count
                }
                if count == 2 { committer.add([ends[2], ends[3]]) }
                if count <= 4 { throw StoreError(.unreachable, "the server is away") }
                return CommitOutcome(writes.map { _ in .done([], retries: 0) })
            }, deliver: { deliveries.add($0) })
        _ = await deliveries.first(2)
        await committer.close()
        // The outage is delivered once, and each end is committed once, in order.
        let batches = await deliveries.first(2)
        #expect(batches.map(\.writes) == [[.claim(id(9), sent: true)], ends])
        #expect(batches.map { $0.error?.code } == [.unreachable, nil])
        #expect(batches.map { $0.outcomes?.count } == [nil, 4])
        #expect(batches.map(\.before) == [.free, .unreachable])
        #expect(!committer.isLocked)
        // Each attempt may connect, so none has the short timeout of a probe.
        #expect(tries.withLock { $0.allSatisfy { $0.timeout == .seconds(1) } })
        #expect(tries.withLock { $0.map(\.writes.count) } == [3, 2, 4, 4, 4])
    }

    @Test func `a store whose server is away is tried without writes until it answers`() async {
        let committer = Self.committer()
        let deliveries = Deliveries()
        let tries = Mutex<[(writes: Int, timeout: Duration)]>([])
        committer.start(
            commit: { gather, attempt throws(StoreError) in
                let writes = gather()
                let count = tries.withLock { tries in
                    tries.append((writes.count, attempt.timeout))
                    return tries.count
                }
                if count > 3 { return CommitOutcome(writes.map { _ in .refused }) }
                throw StoreError(.unreachable, "the server is away")
            }, deliver: { deliveries.add($0) })
        committer.add(.claim(id(1), sent: true))
        let batches = await deliveries.first(2)
        await committer.close()
        #expect(batches.map(\.writes) == [[.claim(id(1), sent: true)], []])
        #expect(batches.map { $0.error?.code } == [.unreachable, nil])
        #expect(batches.map(\.before) == [.free, .unreachable] && !committer.isLocked)
        #expect(tries.withLock { $0.map(\.writes) } == [1, 0, 0, 0])
        #expect(tries.withLock { $0.allSatisfy { $0.timeout == .seconds(1) } })
    }

    @Test func `a commit whose outcome is unknown is made again with the same writes, claims too`() async {
        let committer = Self.committer()
        let deliveries = Deliveries()
        let tries = Mutex<[(writes: [ExecutionWrite], isRepetition: Bool)]>([])
        let first: [ExecutionWrite] = [.claim(id(1), sent: true), .end(id(2), claim: 1, .success(result: nil))]
        let later = [ExecutionWrite.claim(id(3), sent: true), .end(id(4), claim: 1, .success(result: nil))]
        committer.add(first)
        committer.start(
            commit: { gather, attempt throws(StoreError) in
                let writes = gather()
                let count = tries.withLock { tries in
                    tries.append((writes, attempt.isRepetition))
                    return tries.count
                }
                switch count {
                case 1:
                    committer.add(later[1])
                    throw StoreError(.unknown, "no answer")
                // A repetition whose server is away, or locked by another process, keeps its claims.
                case 2: throw StoreError(.unreachable, "the server is away")
                case 3: throw StoreError(.busy, "locked")
                case 4:
                    committer.add(later[0])
                    throw StoreError(.unknown, "no answer")
                default: return CommitOutcome(writes.map { _ in .done([], retries: 0) })
                }
            }, deliver: { deliveries.add($0) })
        let batches = await deliveries.first(6)
        await committer.close()
        let tried = tries.withLock { $0 }
        #expect(tried.map(\.writes) == [first, first, first, first, first, [later[1], later[0]]])
        #expect(tried.map(\.isRepetition) == [false, true, true, true, true, false])
        #expect(batches.map { $0.error?.code } == [.unknown, .unreachable, .busy, .unknown, nil, nil])
        #expect(batches.map(\.writes) == [[], [], [], [], first, [later[1], later[0]]])
    }

    @Test func `a write that may have been made fails with the error that says so`() async {
        let committer = GroupCommitter<Int, Int>(named: "commit", policy: .once)
        let batches = Mutex<[GroupCommitter<Int, Int>.Batch]>([])
        let attempts = Mutex<[Bool]>([])
        committer.start(
            commit: { writes, attempt throws(StoreError) in
                let count = attempts.withLock { attempts in
                    attempts.append(attempt.isRepetition)
                    return attempts.count
                }
                _ = writes()
                throw StoreError(count < 3 ? .unknown : .busy, "\(count)")
            }, deliver: { batch in batches.withLock { $0.append(batch) } })
        committer.add(7)
        await committer.close()
        #expect(attempts.withLock { $0 } == [false, true, true])
        let failed = batches.withLock { $0.filter { !$0.writes.isEmpty } }
        #expect(failed.map(\.writes) == [[7]] && failed.first?.error?.code == .unknown)
    }

    @Test func `closing commits the writes that were added before`() async {
        let committer = Self.committer()
        let deliveries = Deliveries()
        committer.start(
            commit: { writes, _ in CommitOutcome(writes().map { _ in .refused }) }, deliver: { deliveries.add($0) })
        for number: UInt64 in 0..<100 { committer.add(.claim(id(number), sent: true)) }
        await committer.close()
        let delivered = await deliveries.first(1).reduce(0) { $0 + $1.writes.count }
        #expect(delivered == 100)
    }

    @Test func `writes that were added before the start are committed, also where it is closed at once`() async {
        let committer = Self.committer()
        let deliveries = Deliveries()
        committer.add(.claim(id(1), sent: true))
        committer.start(
            commit: { writes, _ in CommitOutcome(writes().map { _ in .refused }) }, deliver: { deliveries.add($0) })
        await committer.close()
        #expect(await deliveries.first(1).map(\.writes) == [[.claim(id(1), sent: true)]])
        // Nothing is left to be done.
        await committer.close()
        await Self.committer().close()
    }

    @Test func `a committer that is closed while its shard is locked waits for its ends, and tries no more after them`()
        async
    {
        let committer = Self.committer()
        let deliveries = Deliveries()
        let isFree = Mutex(false)
        committer.start(
            commit: { gather, _ throws(StoreError) in
                let writes = gather()
                guard isFree.withLock(\.self) else { throw StoreError(.busy, "locked", shard: 0) }
                return CommitOutcome(writes.map { _ in .done([], retries: 0) })
            }, deliver: { deliveries.add($0) })
        committer.add(.claim(id(1), sent: true))
        _ = await deliveries.first(1)
        // Without writes, the end does not wait for the shard.
        let other = Self.committer()
        other.start(
            commit: { _, _ throws(StoreError) in throw StoreError(.busy, "locked", shard: 0) },
            deliver: { deliveries.add($0) })
        other.add(.claim(id(2), sent: true))
        _ = await deliveries.first(2)
        await other.close()
        #expect(other.isLocked)

        committer.add(.end(id(3), claim: 1, .success(result: nil)))
        let closed = AsyncStream<Void>.makeStream()
        committer.close { closed.continuation.finish() }
        isFree.withLock { $0 = true }
        for await _ in closed.stream {}
        #expect(await deliveries.first(3).last?.writes == [.end(id(3), claim: 1, .success(result: nil))])
    }

    @Test func `a commit takes the share of the waiting writes that it may have`() async {
        let committer = GroupCommitter<Int, Int>(named: "commit", policy: .once, share: { min($0.count, 2) })
        let sizes = Mutex<[Int]>([])
        committer.add(Array(0..<5))
        committer.start(
            commit: { writes, _ in writes().count },
            deliver: { batch in sizes.withLock { $0.append(batch.outcomes ?? 0) } })
        await committer.close()
        #expect(sizes.withLock(\.self) == [2, 2, 1])
    }

    @Test func `a commit that is made once fails all its writes, and a locked shard is not tried again`() async {
        let committer = GroupCommitter<Int, Int>(named: "commit", policy: .once)
        let batches = Mutex<[GroupCommitter<Int, Int>.Batch]>([])
        let tries = Mutex(0)
        committer.add([1, 2])
        committer.start(
            commit: { writes, attempt throws(StoreError) in
                _ = writes()
                #expect(attempt.timeout == WriteTimeout.foreground)
                tries.withLock { $0 += 1 }
                throw StoreError(.busy, "locked", shard: 0)
            }, deliver: { batch in batches.withLock { $0.append(batch) } })
        await committer.close()
        #expect(tries.withLock(\.self) == 1 && !committer.isLocked)
        #expect(batches.withLock { $0.map(\.writes) } == [[1, 2]])
        #expect(batches.withLock { $0.map(\.error?.code) } == [.busy])
    }

    @Test func `bodies of the thread have their turn between two commits`() async {
        let thread = SerialThread(named: "shared")
        let order = Mutex<[String]>([])
        let committer = GroupCommitter<Int, Int>(
            named: "commit", policy: .once, share: { _ in 1 }, on: { thread.perform($0) })
        committer.add([1, 2])
        committer.start(
            commit: { writes, _ in
                let write = writes()[0]
                if write == 1 { thread.perform { order.withLock { $0.append("body") } } }
                order.withLock { $0.append("commit \(write)") }
                return write
            }, deliver: { _ in })
        await committer.close()
        await thread.close()
        #expect(order.withLock(\.self) == ["commit 1", "body", "commit 2"])
    }
}
