package import Commands
internal import Glibc
package import Host
internal import Synchronization

/// Commits the writes of concurrent callers together: all that wait go into one transaction, and the next follows as soon
/// as that one has returned. Throughput so rises with the number of callers.
///
/// Each ``CommitGroup`` of the store has one, on one thread. ``CommitPolicy`` says what becomes of writes that fail.
package final class GroupCommitter<Write: Sendable, Outcomes: Sendable>: Sendable {
    package struct Batch: Sendable {
        package var writes: [Write]
        /// Nil where the writes failed for good.
        package var outcomes: Outcomes?
        /// Nil where it was delivered before.
        package var error: StoreError?
        /// The condition of the shard before the commit.
        package var before = CommitPolicy.Condition.free
    }

    /// One transaction.
    /// - Parameters:
    ///   - writes: called when the turn of the commit has come, so that writes which come during the wait go along.
    ///   - attempt: how it is tried. A commit whose outcome is unknown is made again with the same writes, the optional ones
    ///     too, until its outcome is known.
    package typealias Commit =
        @Sendable (_ writes: () -> [Write], _ attempt: CommitAttempt) throws(StoreError) -> Outcomes

    private struct Calls {
        var commit: Commit
        var deliver: @Sendable (Batch) -> Void
    }

    private enum Phase {
        case idle
        /// A turn is due or runs.
        case busy
        /// The turn waits for a shard that is not free.
        case pausing
        case ended
    }

    private struct Queue {
        var writes: [Write] = []
        /// They go with the next commit and cause none.
        var nextCommit: [CommandID: Write] = [:]
        var phase = Phase.idle
        /// Nil before the start and after the end.
        var calls: Calls?
        var isClosed = false
        var completions: [@Sendable () -> Void] = []
    }

    private let queue = Mutex(Queue())
    private let condition = Atomic(CommitPolicy.Condition.free)
    private let wake = MonotonicSemaphore(value: 0)
    private let policy: CommitPolicy
    private let slots: MonotonicSemaphore?
    private let isOptional: @Sendable (Write) -> Bool
    private let share: (@Sendable ([Write]) -> Int)?
    /// Nil: the thread of the commits belongs to another object.
    private let thread: SerialThread?
    private let run: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// - Parameters:
    ///   - name: of its thread.
    ///   - slots: bounds the commits at a time of the committers that share it; nil: nothing bounds them.
    ///   - isOptional: whether a write is given up where its commit fails.
    ///   - share: how many of the waiting writes, from the first on, one commit takes: at least 1. Nil: all.
    ///   - run: runs a body on the thread of the commits, one after the other; nil: a thread of its own does.
    package init(
        named name: String, policy: CommitPolicy, slots: MonotonicSemaphore? = nil,
        isOptional: @escaping @Sendable (Write) -> Bool = { _ in false },
        share: (@Sendable ([Write]) -> Int)? = nil,
        on run: (@Sendable (@escaping @Sendable () -> Void) -> Void)? = nil
    ) {
        self.policy = policy
        self.slots = slots
        self.isOptional = isOptional
        self.share = share
        let thread = run == nil ? SerialThread(named: name) : nil
        self.thread = thread
        self.run = run ?? { thread?.perform($0) }
    }

    deinit { thread?.close() }

    /// Another process keeps a shard of the group locked, or the server of the store is away, so that an optional write need not be
    /// tried.
    package var isLocked: Bool { condition.load(ordering: .relaxed) != .free }

    // MARK: From any thread

    package func add(_ write: Write) { change { $0.writes.append(write) } }

    package func add(_ writes: [Write]) { change { $0.writes += writes } }

    /// Adds a write that causes no commit of its own. A newer one of the same command replaces it.
    package func addToNextCommit(_ write: Write, of id: CommandID) { queue.withLock { $0.nextCommit[id] = write } }

    /// Begins to commit.
    /// - Parameter deliver: called on the thread with each batch, in the order of the commits, and with an empty batch when
    ///   ``isLocked`` has changed.
    package func start(commit: @escaping Commit, deliver: @escaping @Sendable (Batch) -> Void) {
        change { $0.calls = Calls(commit: commit, deliver: deliver) }
    }

    /// Commits the writes that were added so far. Writes that are added later are not committed.
    /// - Parameter completion: called when that is done, on the thread; at once where nothing is to be done.
    package func close(then completion: @escaping @Sendable () -> Void) {
        let isOver = queue.withLock { queue in
            if queue.calls == nil { queue.phase = .ended }
            if queue.phase != .ended { queue.completions.append(completion) }
            queue.isClosed = true
            return queue.phase == .ended
        }
        if isOver { completion() } else { change { _ in } }
    }

    /// As ``close(then:)``. Returns when that is done.
    package func close() async {
        await withCheckedContinuation { continuation in close { continuation.resume() } }
    }

    private func change(_ change: (inout Queue) -> Void) {
        let before = queue.withLock { queue in
            change(&queue)
            let phase = queue.phase
            if queue.calls != nil, phase == .idle || phase == .pausing { queue.phase = .busy }
            return queue.calls == nil ? .ended : phase
        }
        switch before {
        case .idle: run { [self] in turn() }
        case .pausing: wake.signal()
        case .busy, .ended: break
        }
    }

    // MARK: On the thread

    /// Makes one commit, so that other bodies of the thread have their turn before the next. Where the shard is not free, it
    /// lasts until the shard is.
    private func turn() {
        guard let calls = queue.withLock({ $0.calls }) else { return }
        if queue.withLock({ !$0.writes.isEmpty }) { commit(calls) }
        var attempts = 0
        while isLocked, waitForAttempt(after: attempts) {
            commit(calls)
            attempts += 1
        }
        let (isMore, completions) = queue.withLock { queue in
            guard queue.writes.isEmpty else { return (true, queue.completions.prefix(0)) }
            queue.phase = queue.isClosed ? .ended : .idle
            guard queue.isClosed else { return (false, []) }
            queue.calls = nil
            defer { queue.completions = [] }
            return (false, queue.completions[...])
        }
        if isMore { run { [self] in turn() } }
        for completion in completions { completion() }
    }

    /// Waits for a write, or for the next attempt at a shard that is not free.
    /// - Returns: false when no write is left and the committer is closed.
    private func waitForAttempt(after attempts: Int) -> Bool {
        let pause = policy.pause(in: condition.load(ordering: .relaxed), after: attempts)
        while true {
            let (isWork, isClosed) = queue.withLock { queue in
                queue.phase = queue.writes.isEmpty && !queue.isClosed ? .pausing : .busy
                return (!queue.writes.isEmpty, queue.isClosed)
            }
            if isWork || isClosed { return isWork }
            guard !wake.wait(timeout: pause) else { continue }
            queue.withLock { $0.phase = .busy }
            return true
        }
    }

    /// Commits what waits, until each write is committed or has failed.
    /// - Parameters:
    ///   - part: only these writes, and the others later; nil: all.
    ///   - unknown: the error of an earlier commit of `part` whose outcome is unknown.
    private func commit(_ calls: Calls, only part: [Write]? = nil, after unknown: StoreError? = nil) {
        var writes = part ?? []
        var unknown = unknown
        for attempt in 0... {
            let before = condition.load(ordering: .relaxed)
            let hasSlot = before == .free && slots?.wait(timeout: CommitPolicy.slotTimeout) == true
            let isRepetition = unknown != nil
            let isProbe =
                before == .locked && !isRepetition && writes.allSatisfy(isOptional) && (part != nil || hasOnlyOptional)
            var isGathered = part != nil || isRepetition
            // Writes that come during the wait for a turn go along.
            func gather() -> [Write] {
                if !isGathered { writes = writes.isEmpty ? take() : writes + take() }
                isGathered = true
                return writes
            }
            let result = Result { () throws(StoreError) in
                try calls.commit(
                    gather, CommitAttempt(timeout: policy.timeout(isProbe: isProbe), isRepetition: isRepetition))
            }
            _ = gather()
            if hasSlot { slots?.signal() }
            switch result {
            case .success(let outcomes):
                condition.store(.free, ordering: .relaxed)
                return calls.deliver(Batch(writes: writes, outcomes: outcomes, before: before))
            case .failure(let error):
                let failure = policy.failure(error, in: before)
                condition.store(failure.condition, ordering: .relaxed)
                if error.code == .unknown { unknown = error }
                guard failure.remedy != .fail else {
                    return calls.deliver(Batch(writes: writes, error: unknown ?? error))
                }
                // A write that may have been made is not given up.
                var givenUp = unknown == nil ? writes.filter(isOptional) : []
                let kept = unknown == nil ? writes.filter { !isOptional($0) } : writes
                if failure.condition != .free {
                    queue.withLock { queue in
                        givenUp += queue.writes.filter(isOptional)
                        queue.writes.removeAll(where: isOptional)
                    }
                }
                if !givenUp.isEmpty || failure.isNews {
                    calls.deliver(Batch(writes: givenUp, error: failure.error, before: before))
                }
                if kept.isEmpty { return }
                guard failure.remedy == .retry else {
                    let parts = CommitPolicy.divide(kept, hadOthers: !givenUp.isEmpty)
                    if parts.isEmpty { calls.deliver(Batch(writes: kept, error: error)) }
                    for part in parts { commit(calls, only: part, after: unknown) }
                    return
                }
                writes = kept
                usleep(UInt32(policy.delay(after: attempt).nanoseconds / 1000))
            }
        }
    }

    private func take() -> [Write] {
        queue.withLock { queue in
            let count = share?(queue.writes) ?? queue.writes.count
            let isAll = count >= queue.writes.count
            var taken = isAll ? queue.writes : Array(queue.writes.prefix(count))
            if isAll { queue.writes = [] } else { queue.writes.removeFirst(count) }
            guard !queue.nextCommit.isEmpty else { return taken }
            // These first: an end in the same batch closes the fence behind an offset.
            taken.insert(contentsOf: queue.nextCommit.values, at: 0)
            queue.nextCommit = [:]
            return taken
        }
    }

    private var hasOnlyOptional: Bool { queue.withLock { $0.writes.allSatisfy(isOptional) } }
}
