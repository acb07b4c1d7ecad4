internal import Commands
internal import Dispatch
internal import Glibc
internal import Host
package import Store
internal import Synchronization

/// Commits the writes of one shard, on a thread of its own. All that wait go into one transaction; the next
/// follows as soon as that one has returned and the ``CommitLimiter`` lets it.
///
/// **A shard that another process keeps locked** (one that was stopped within a commit) gets no claims,
/// because they would keep slots from the work of the other shards. Claims are given up after a second, and
/// no more are made until a commit succeeds. Ends wait; where there are none, the committer tries ten times a
/// second whether the shard is free.
package final class GroupCommitter: Sendable {
    package struct Batch: Sendable {
        package var writes: [ExecutionWrite]
        /// One for each write; nil where the writes failed for good.
        package var outcomes: CommitOutcome?
        /// Nil where it was delivered before.
        package var error: StoreError?
    }

    private struct Queue {
        var writes: [ExecutionWrite] = []
        /// Offsets: they go with the next commit and cause none.
        var nextCommit: [CommandID: ExecutionWrite] = [:]
        var isIdle = false
        var isClosed = false

        mutating func wakes() -> Bool {
            defer { isIdle = false }
            return isIdle
        }
    }

    private let shard: Int
    private let queue = Mutex(Queue())
    private let wake = MonotonicSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let limiter: CommitLimiter
    private let locked = Atomic<Bool>(false)

    /// How long a commit waits for the shard's lock: other processes hold it for milliseconds.
    private static let timeout: Duration = .seconds(1)
    /// The same for a shard that was locked at the last attempt, where only claims wait.
    private static let briefTimeout: Duration = .milliseconds(20)
    /// From such an attempt to the next.
    private static let probeInterval = Duration.milliseconds(100)
    /// From a failed commit to the next attempt; it doubles up to the maximum.
    private static let minRetryDelay: Duration = .milliseconds(50)
    private static let maxRetryDelay: Duration = .seconds(1)

    /// - Parameter limiter: shared by the committers of a worker.
    package init(shard: Int, limiter: CommitLimiter) {
        self.shard = shard
        self.limiter = limiter
    }

    /// Another process keeps the shard locked, so that a claim need not be tried.
    package var isLocked: Bool { locked.load(ordering: .relaxed) }

    package func add(_ write: ExecutionWrite) { add(CollectionOfOne(write)) }

    package func add(_ writes: some Collection<ExecutionWrite>) {
        let wakes = queue.withLock { queue in
            queue.writes.append(contentsOf: writes)
            return queue.wakes()
        }
        if wakes { wake.signal() }
    }

    /// Adds a write that causes no commit of its own. A newer one of the same command replaces it.
    package func addToNextCommit(_ write: ExecutionWrite) { queue.withLock { $0.nextCommit[write.id] = write } }

    /// Starts the thread.
    /// - Parameters:
    ///   - commit: one transaction, see ``CommandStore/apply(_:shard:seat:epoch:now:timeout:)``. It takes the writes
    ///     when its turn has come.
    ///   - deliver: called on the thread with each batch, in the order of the commits, and with an empty
    ///     batch when ``isLocked`` has changed.
    package func start(
        commit:
            @escaping @Sendable (_ writes: () -> [ExecutionWrite], _ timeout: Duration) throws(StoreError)
            -> CommitOutcome,
        deliver: @escaping @Sendable (Batch) -> Void
    ) {
        startThread(named: "commit-\(shard)") { [self] in
            while waitForWork() { perform(commit: commit, deliver: deliver) }
            ended.signal()
        }
    }

    /// Commits the writes that were added so far and ends the thread. Blocks until then.
    package func close() {
        let wakes = queue.withLock { queue in
            queue.isClosed = true
            return queue.wakes()
        }
        if wakes { wake.signal() }
        ended.wait()
    }

    /// - Returns: false when no write is left and the committer is closed.
    private func waitForWork() -> Bool {
        while true {
            let (isWork, isClosed) = queue.withLock { queue in
                if queue.writes.isEmpty { queue.isIdle = !queue.isClosed }
                return (!queue.writes.isEmpty, queue.isClosed)
            }
            if isWork { return true }
            if isClosed { return false }
            guard isLocked else {
                wake.wait()
                continue
            }
            if !wake.wait(timeout: Self.probeInterval) { return true }
        }
    }

    private func take() -> [ExecutionWrite] {
        queue.withLock { queue in
            defer {
                queue.writes = []
                queue.nextCommit = [:]
            }
            // Offsets first: an end in the same batch closes the fence behind them.
            return Array(queue.nextCommit.values) + queue.writes
        }
    }

    private var hasOnlyClaims: Bool { queue.withLock { $0.writes.allSatisfy(\.isClaim) } }

    private func takeClaims() -> [ExecutionWrite] {
        queue.withLock { queue in
            let (claims, others) = queue.writes.partitioned(\.isClaim)
            queue.writes = others
            return claims
        }
    }

    /// Whether the same writes may be committed later.
    private static func mayPass(_ error: StoreError) -> Bool {
        switch error.code {
        case .busy, .full, .exhausted, .overloaded, .failed, .permission: true
        case .missing, .foreign, .backup, .unsuitable, .corrupt, .conflict, .invalid, .notFound, .ambiguous: false
        }
    }

    /// Gives a claim up that cannot be committed. Retries an end until it can be committed, or fails it where
    /// it never can.
    /// - Parameter only: commits these writes, and leaves the queue for later; nil: all that wait.
    private func perform(
        only: [ExecutionWrite]? = nil,
        commit: (() -> [ExecutionWrite], Duration) throws(StoreError) -> CommitOutcome, deliver: (Batch) -> Void
    ) {
        var writes = only ?? []
        var delay = Self.minRetryDelay
        while true {
            let wasLocked = isLocked
            let isLimited = !wasLocked && limiter.enter()
            let isProbe = wasLocked && writes.allSatisfy(\.isClaim) && (only != nil || hasOnlyClaims)
            var isGathered = only != nil
            // Writes that come during the wait for a turn go along.
            func gather() -> [ExecutionWrite] {
                if !isGathered { writes += take() }
                isGathered = true
                return writes
            }
            let result = Result { () throws(StoreError) in
                try commit(gather, isProbe ? Self.briefTimeout : Self.timeout)
            }
            _ = gather()
            if isLimited { limiter.leave() }
            switch result {
            case .success(let outcomes):
                locked.store(false, ordering: .relaxed)
                return deliver(Batch(writes: writes, outcomes: outcomes))
            case .failure(let error):
                let isLocked = error.code == .busy
                locked.store(isLocked, ordering: .relaxed)
                var (claims, others) = writes.partitioned(\.isClaim)
                if isLocked { claims += takeClaims() }
                let isKnown = wasLocked && isLocked
                let mayPass = Self.mayPass(error)
                if !claims.isEmpty || wasLocked != isLocked || mayPass && !isKnown {
                    deliver(Batch(writes: claims, outcomes: nil, error: isKnown ? nil : error))
                }
                if others.isEmpty { return }
                guard mayPass else {
                    // Each write alone, so that an unreadable row fails only its own.
                    if !claims.isEmpty { return perform(only: others, commit: commit, deliver: deliver) }
                    if others.count == 1 { return deliver(Batch(writes: others, outcomes: nil, error: error)) }
                    for other in others { perform(only: [other], commit: commit, deliver: deliver) }
                    return
                }
                writes = others
                usleep(UInt32(delay.nanoseconds / 1000))
                delay = min(delay * 2, Self.maxRetryDelay)
            }
        }
    }
}

extension ExecutionWrite {
    fileprivate var isClaim: Bool { if case .claim = self { true } else { false } }
}

extension Array {
    fileprivate func partitioned(_ belongsFirst: (Element) -> Bool) -> ([Element], [Element]) {
        var first: [Element] = []
        var second: [Element] = []
        for element in self { if belongsFirst(element) { first.append(element) } else { second.append(element) } }
        return (first, second)
    }
}
