internal import Commands
internal import Dispatch
internal import Glibc
package import Store
internal import Synchronization

/// Commits the writes of one shard, on a thread of its own: whatever waits goes into one transaction, and the next
/// follows as soon as that one has returned and a lane is free.
package final class Committer: Sendable {
    package struct Batch: Sendable {
        package var writes: [ExecutionWrite]
        /// One for each write; nil where the store has given up on them.
        package var outcomes: [ExecutionOutcome]?
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
    private let lanes: CommitLanes

    /// - Parameter lanes: shared by the committers of a worker.
    package init(shard: Int, lanes: CommitLanes) {
        self.shard = shard
        self.lanes = lanes
    }

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
    ///   - commit: one transaction, see ``CommandStore/apply(_:shard:seat:epoch:now:)``.
    ///   - deliver: called on the thread with each batch, in the order of the commits.
    package func start(
        commit: @escaping @Sendable ([ExecutionWrite]) throws(StoreError) -> [ExecutionOutcome],
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
            wake.wait()
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

    /// A claim that cannot be committed is given up; an end is retried until it can be, and holds its place meanwhile.
    private func perform(
        commit: ([ExecutionWrite]) throws(StoreError) -> [ExecutionOutcome], deliver: (Batch) -> Void
    ) {
        var writes: [ExecutionWrite] = []
        var pause: UInt32 = 50_000
        while true {
            let hasLane = lanes.enter()
            // What came while a lane was waited for goes along.
            writes += take()
            let result = Result { () throws(StoreError) in try commit(writes) }
            if hasLane { lanes.leave() }
            switch result {
            case .success(let outcomes): return deliver(Batch(writes: writes, outcomes: outcomes))
            case .failure(let error):
                let (claims, others) = writes.partitioned { if case .claim = $0 { true } else { false } }
                if !claims.isEmpty { deliver(Batch(writes: claims, outcomes: nil, error: error)) }
                if others.isEmpty { return }
                switch error.code {
                case .busy, .full, .overloaded, .failed, .permission:
                    if claims.isEmpty { deliver(Batch(writes: [], outcomes: nil, error: error)) }
                    writes = others
                    usleep(pause)
                    pause = min(pause * 2, 1_000_000)
                case .missing, .foreign, .corrupt, .conflict, .invalid, .notFound:
                    return deliver(Batch(writes: others, outcomes: nil, error: error))
                }
            }
        }
    }
}

extension Array {
    fileprivate func partitioned(_ belongsFirst: (Element) -> Bool) -> ([Element], [Element]) {
        var first: [Element] = []
        var second: [Element] = []
        for element in self { if belongsFirst(element) { first.append(element) } else { second.append(element) } }
        return (first, second)
    }
}
