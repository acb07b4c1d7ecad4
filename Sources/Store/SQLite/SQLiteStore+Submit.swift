package import Commands
internal import Dispatch
internal import Synchronization

extension SQLiteStore {
    /// The number of drafts from which on two threads commit: one encodes while the other waits for the disk.
    private static let parallelThreshold = 256

    package func submit(_ drafts: [CommandDraft], allowUnknownTypes: Bool) -> [Result<Submission, StoreError>] {
        let now = clock.now()
        var results = [Result<Submission, StoreError>?](repeating: nil, count: drafts.count)
        var random = BufferedRandom()
        var waiting: [Int] = []
        waiting.reserveCapacity(drafts.count)
        // Computed before a transaction begins, because other writers wait for its end.
        var digests = [[UInt8]?](repeating: nil, count: drafts.count)
        var remote: [Int: [RemoteDependency]] = [:]
        let bytes = drafts.map(\.shardByte)
        let limits = LimitCheck(drafts, in: self)
        for (index, draft) in drafts.enumerated() {
            if let problem = draft.problem ?? draft.timeProblem(now: now) ?? draft.dependencyProblem
                ?? limits.problem(of: draft)
            {
                results[index] = .failure(problem)
                continue
            }
            do throws(StoreError) {
                if !draft.dependencies.isEmpty {
                    remote[index] = try draft.remoteDependencies(shardCount: shardCount) { id throws(StoreError) in
                        try remoteParent(id)
                    }
                }
                digests[index] = draft.digest
                waiting.append(index)
            } catch {
                results[index] = .failure(error)
            }
        }
        var rounds = SubmitRounds(count: drafts.count)
        while !waiting.isEmpty {
            var candidates = rounds.begin(shards.map { .init(isUsable: $0.problem == nil, isLocked: $0.isLocked) })
            if drafts.count == 1, bytes[0] == nil, candidates.contains(true) {
                let shard = affinity.withLock { $0.next(among: candidates, using: &random) }
                candidates = candidates.indices.map { $0 == shard }
            }
            var batches = shards.map { _ in [PendingInsert]() }
            for index in waiting {
                let id = router.newID(bytes[index], among: candidates, now: now, using: &random)
                batches[id.shard(of: shardCount)].append(
                    PendingInsert(index: index, id: id, digest: digests[index], remote: remote[index] ?? []))
            }
            waiting = []
            let timeout = batches.indices.map { shard in
                rounds.timeout(of: shard, canMove: batches[shard].contains { bytes[$0.index] == nil })
            }
            for (shard, outcome) in insert(
                drafts, batches, timeout: timeout, allowUnknownTypes: allowUnknownTypes, now: now)
            {
                switch outcome {
                case .success(let submissions):
                    for (pending, submission) in zip(batches[shard], submissions) {
                        results[pending.index] = submission
                    }
                case .failure(let error):
                    let moved = rounds.failed(
                        shard, error.code, after: timeout[shard], isUsable: shards[shard].problem == nil)
                    for pending in batches[shard] {
                        if moved == .all || moved == .withoutKey && bytes[pending.index] == nil {
                            waiting.append(pending.index)
                        } else {
                            results[pending.index] = .failure(error)
                        }
                    }
                }
            }
            waiting.sort()
        }
        return results.map { $0 ?? .failure(StoreError(.failed, "A draft was not processed.")) }
    }

    /// A draft on its way to a shard.
    struct PendingInsert: Sendable {
        /// Of the draft in the batch.
        var index: Int
        var id: CommandID
        /// Nil without a unique key.
        var digest: [UInt8]?
        /// Its dependencies on commands of other shards.
        var remote: [RemoteDependency] = []
    }

    private func remoteParent(_ id: CommandID) throws(StoreError) -> RemoteParent? {
        try shard(of: id).use { connection throws(StoreError) in
            guard connection.version >= 3 else { return nil }
            var rows = connection
            return try RemoteParent(id, &rows)
        }
    }

    private typealias Outcome = Result<[Result<Submission, StoreError>], StoreError>

    private func insert(
        _ drafts: [CommandDraft], _ batches: [[PendingInsert]], timeout: [Duration], allowUnknownTypes: Bool,
        now: Timestamp
    ) -> [(Int, Outcome)] {
        // Commit to unlocked shards first, so that a locked one delays only its own drafts.
        let isLocked = shards.map { $0.isLocked ? 1 : 0 }
        let busy = batches.indices.filter { !batches[$0].isEmpty }
            .sorted { (isLocked[$0], timeout[$0]) < (isLocked[$1], timeout[$1]) }
        let insert = { @Sendable [self] (shard: Int) -> Outcome in
            Outcome { () throws(StoreError) in
                try shards[shard].checkWALLimit(timeout: timeout[shard])
                let (results, effects) = try shards[shard].change(timeout: timeout[shard]) {
                    connection throws(StoreError) in
                    try connection.insert(drafts, batches[shard], allowUnknownTypes: allowUnknownTypes, now: now)
                }
                return results.telling(effects)
            }
        }
        guard drafts.count >= Self.parallelThreshold, busy.count > 1 else { return busy.map { ($0, insert($0)) } }
        let outcomes = Mutex<[(Int, Outcome)]>([])
        let next = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: 2) { _ in
            while true {
                let position = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard position < busy.count else { return }
                let outcome = insert(busy[position])
                outcomes.withLock { $0.append((busy[position], outcome)) }
            }
        }
        return outcomes.withLock { $0 }
    }
}

extension [Result<Submission, StoreError>] {
    /// With the other commands that the commit has changed.
    func telling(_ effects: Effects) -> Self {
        guard !effects.ready.isEmpty, let index = firstIndex(where: { (try? $0.get()) != nil }) else { return self }
        var results = self
        results[index] = results[index].map { submission in
            var submission = submission
            submission.changed = effects.ready.map(\.id)
            return submission
        }
        return results
    }
}

/// Chooses the shard of a single submit. Pure.
///
/// It stays at the shard of the last submit, whose connection and pages are warm here and in the worker that
/// takes the command. It moves on when another process commits there, so that producers spread over the
/// shards, and after ``maxConsecutive`` submits, so that all shards grow alike.
struct ShardAffinity: Sendable {
    private var shard = 0
    private var remaining = 0

    /// Submits to one shard in a row.
    static let maxConsecutive = 64

    /// - Parameter isFree: whether each shard may be chosen; at least one is true.
    mutating func next(among isFree: [Bool], using random: inout some RandomNumberGenerator) -> Int {
        if remaining == 0 || !isFree[shard] {
            let free = isFree.indices.filter { isFree[$0] }
            shard = free[Int.random(in: free.indices, using: &random)]
            remaining = Self.maxConsecutive
        }
        remaining -= 1
        return shard
    }
}

/// The rounds of one submit: which shards it tries, how long it waits for each, and which drafts it moves. Pure.
///
/// Each further round moves drafts without a key from a shard that turned out unusable, whose WAL is full, or in which
/// another process commits, to the other shards. Eight producers on eight shards mostly meet at one.
struct SubmitRounds {
    /// The state of a shard when a round begins.
    struct Shard {
        var isUsable = true
        /// The last write timed out, because another process held the lock.
        var isLocked = false
    }

    /// The drafts of a shard whose commit has failed that are tried again. The others fail with the error.
    enum Moved {
        case none
        case withoutKey
        case all
    }

    private let isSingle: Bool
    /// Shards in which another process commits, or whose WAL is full.
    private var busy: Set<Int> = []
    private var shards: [Shard] = []
    private var hasFreeShard = false
    private var mayMove = false

    /// - Parameter count: of the drafts.
    init(count: Int) { isSingle = count == 1 }

    /// Begins a round.
    /// - Returns: whether each shard may have drafts without a key in this round.
    mutating func begin(_ shards: [Shard]) -> [Bool] {
        let isFree = shards.indices.map { shards[$0].isUsable && !busy.contains($0) }
        self.shards = shards
        hasFreeShard = isFree.contains(true)
        mayMove = hasFreeShard && (!isSingle || busy.count <= shards.count / 2)
        return hasFreeShard ? isFree : shards.map(\.isUsable)
    }

    /// How long the commit of a shard waits for other processes. A single draft moves to another shard at once. A batch
    /// waits briefly, unless its shard is known to be locked.
    /// - Parameter canMove: some draft for the shard has no key.
    func timeout(of shard: Int, canMove: Bool) -> Duration {
        guard mayMove, canMove else { return WriteTimeout.foreground }
        return isSingle || shards[shard].isLocked ? .zero : WriteTimeout.batch
    }

    /// The commit of a shard has failed.
    /// - Parameters:
    ///   - timeout: how long it has waited.
    ///   - isUsable: whether the shard is usable now.
    mutating func failed(_ shard: Int, _ code: StoreError.Code, after timeout: Duration, isUsable: Bool) -> Moved {
        if code == .busy || code == .unreachable, timeout < WriteTimeout.foreground {
            busy.insert(shard)
            return .all
        }
        if code == .overloaded, hasFreeShard {
            busy.insert(shard)
            return .withoutKey
        }
        let becameUnusable = shards[shard].isUsable && !isUsable && shards.contains { $0.isUsable }
        return becameUnusable ? .withoutKey : .none
    }
}
