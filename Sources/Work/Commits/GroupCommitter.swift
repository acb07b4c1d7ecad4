internal import Commands
internal import Dispatch
internal import Glibc
internal import Host
package import Store
internal import Synchronization

/// Commits the writes of one shard, on a thread of its own: whatever waits goes into one transaction, and the next
/// follows as soon as that one has returned and a lane is free.
///
/// **A shard that another process keeps locked** (one that was stopped within a commit) gets no claims, which would keep
/// places from the work of the other shards: they are given up after a second, and no more are made until a commit succeeds.
/// Ends wait for it; and where there are none, it is asked ten times a second whether it is free.
package final class GroupCommitter: Sendable {
    package struct Batch: Sendable {
        package var writes: [ExecutionWrite]
        /// One for each write; nil where the store has given up on them.
        package var outcomes: [ExecutionOutcome]?
        /// Nil where it has been told before.
        package var error: StoreError?
    }

    private struct Queue {
        var writes: [ExecutionWrite] = []
        /// Offsets: they go with the next commit and cause none.
        var riding: [CommandID: ExecutionWrite] = [:]
        var isIdle = false
        var isClosed = false

        mutating func wakes() -> Bool {
            defer { isIdle = false }
            return isIdle
        }
    }

    private let shard: Int
    private let queue = Mutex(Queue())
    private let wake = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let lanes: CommitLimiter
    private let locked = Atomic<Bool>(false)

    /// How long a turn is waited for: those of others last milliseconds.
    private static let timeout: Duration = .seconds(1)
    /// The same where the shard was locked when it was last tried, and nothing waits for it; and how long afterwards.
    private static let briefTimeout: Duration = .milliseconds(20)
    private static let interval = DispatchTimeInterval.milliseconds(100)

    /// - Parameter lanes: shared by the committers of a worker.
    package init(shard: Int, lanes: CommitLimiter) {
        self.shard = shard
        self.lanes = lanes
    }

    /// Whether a claim need not be tried: another process keeps the shard locked.
    package var isLocked: Bool { locked.load(ordering: .relaxed) }

    package func add(_ write: ExecutionWrite) { add(CollectionOfOne(write)) }

    package func add(_ writes: some Collection<ExecutionWrite>) {
        let wakes = queue.withLock { queue in
            queue.writes.append(contentsOf: writes)
            return queue.wakes()
        }
        if wakes { wake.signal() }
    }

    /// Goes along with the next commit of this shard; a newer one of the same command replaces it.
    package func ride(_ write: ExecutionWrite) { queue.withLock { $0.riding[write.id] = write } }

    /// Starts the thread.
    /// - Parameters:
    ///   - commit: one transaction, see ``CommandStore/apply(_:shard:seat:epoch:now:timeout:)``.
    ///   - deliver: called on the thread with each batch, in the order of the commits; and with an empty one where
    ///     ``isLocked`` has changed.
    package func start(
        commit:
            @escaping @Sendable (_ writes: [ExecutionWrite], _ timeout: Duration) throws(StoreError)
            -> [ExecutionOutcome],
        deliver: @escaping @Sendable (Batch) -> Void
    ) {
        startThread(named: "commit-\(shard)") { [self] in
            while waitForWork() { perform(commit: commit, deliver: deliver) }
            ended.signal()
        }
    }

    /// Commits what was added so far and ends the thread. Blocks until then.
    package func close() {
        let wakes = queue.withLock { queue in
            queue.isClosed = true
            return queue.wakes()
        }
        if wakes { wake.signal() }
        ended.wait()
    }

    /// - Returns: false where there is none and the committer is closed.
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
            if wake.wait(timeout: .now() + Self.interval) == .timedOut { return true }
        }
    }

    private func take() -> [ExecutionWrite] {
        queue.withLock { queue in
            defer {
                queue.writes = []
                queue.riding = [:]
            }
            // Offsets first: an end in the same batch closes the fence behind them.
            return Array(queue.riding.values) + queue.writes
        }
    }

    private func takeClaims() -> [ExecutionWrite] {
        queue.withLock { queue in
            let (claims, others) = queue.writes.partitioned(\.isClaim)
            queue.writes = others
            return claims
        }
    }

    /// Whether the same may be committed later.
    private static func mayPass(_ error: StoreError) -> Bool {
        switch error.code {
        case .busy, .full, .exhausted, .overloaded, .failed, .permission: true
        case .missing, .foreign, .corrupt, .conflict, .invalid, .notFound: false
        }
    }

    /// A claim that cannot be committed is given up; an end is retried until it can be, or fails where it never can.
    /// - Parameter alone: without what waits besides.
    private func perform(
        alone: [ExecutionWrite]? = nil,
        commit: ([ExecutionWrite], Duration) throws(StoreError) -> [ExecutionOutcome], deliver: (Batch) -> Void
    ) {
        var writes = alone ?? []
        var pause: UInt32 = 50_000
        while true {
            let wasLocked = isLocked
            let hasLane = !wasLocked && lanes.enter()
            // What came while a lane was waited for goes along.
            if alone == nil { writes += take() }
            let isProbe = wasLocked && writes.allSatisfy(\.isClaim)
            let result = Result { () throws(StoreError) in
                try commit(writes, isProbe ? Self.briefTimeout : Self.timeout)
            }
            if hasLane { lanes.leave() }
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
                    // A row that cannot be read costs the others nothing.
                    if !claims.isEmpty { return perform(alone: others, commit: commit, deliver: deliver) }
                    if others.count == 1 { return deliver(Batch(writes: others, outcomes: nil, error: error)) }
                    for other in others { perform(alone: [other], commit: commit, deliver: deliver) }
                    return
                }
                writes = others
                usleep(pause)
                pause = min(pause * 2, 1_000_000)
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
