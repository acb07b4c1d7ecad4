package import Commands
internal import Dispatch
internal import Synchronization

extension SQLiteStore {
    /// The number of drafts from which on two threads commit: one encodes while the other waits for the disk.
    private static let parallelThreshold = 256

    package func submit(
        _ drafts: [CommandDraft], allowUnknownTypes: Bool, now: Timestamp
    ) -> [Result<Submission, StoreError>] {
        var results = [Result<Submission, StoreError>?](repeating: nil, count: drafts.count)
        var random = BufferedRandom()
        var waiting: [Int] = []
        waiting.reserveCapacity(drafts.count)
        // Computed before a transaction begins, because other writers wait for its end.
        var digests = [[UInt8]?](repeating: nil, count: drafts.count)
        var remote: [Int: [RemoteDependency]] = [:]
        let limits = LimitCheck(drafts, in: self)
        for (index, draft) in drafts.enumerated() {
            if let problem = draft.problem ?? draft.dependencyProblem ?? limits.problem(of: draft) {
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
        // Each further round moves drafts without a unique key from a shard that turned out unusable, whose WAL is full, or
        // in which another process commits, to the other shards. Eight producers on eight shards mostly meet at one.
        var busy: Set<Int> = []
        while !waiting.isEmpty {
            let isUsable = shards.map { $0.problem == nil }
            let isFree = isUsable.indices.map { isUsable[$0] && !busy.contains($0) }
            let mayMove = isFree.contains(true) && (drafts.count > 1 || busy.count <= shardCount / 2)
            var batches = shards.map { _ in [PendingInsert]() }
            var candidates = isFree.contains(true) ? isFree : isUsable
            if drafts.count == 1, drafts[0].uniqueKey == nil, candidates.contains(true) {
                let shard = affinity.withLock { $0.next(among: candidates, using: &random) }
                candidates = candidates.indices.map { $0 == shard }
            }
            for index in waiting {
                let id = newID(for: drafts[index], now: now, candidates: candidates, &random)
                batches[id.shard(of: shardCount)].append(
                    PendingInsert(index: index, id: id, digest: digests[index], remote: remote[index] ?? []))
            }
            waiting = []
            // A single draft moves to another shard at once. A batch waits briefly, unless its shard is known to be locked.
            let timeout = batches.indices.map { shard in
                guard mayMove, batches[shard].contains(where: { drafts[$0.index].uniqueKey == nil }) else {
                    return WriteTimeout.foreground
                }
                return drafts.count == 1 || shards[shard].isLocked ? .zero : WriteTimeout.batch
            }
            for (shard, outcome) in insert(
                drafts, batches, timeout: timeout, allowUnknownTypes: allowUnknownTypes, now: now)
            {
                switch outcome {
                case .success(let submissions):
                    for (pending, submission) in zip(batches[shard], submissions) {
                        results[pending.index] = submission
                    }
                case .failure(let error) where error.code == .busy && timeout[shard] < WriteTimeout.foreground:
                    busy.insert(shard)
                    waiting += batches[shard].map(\.index)
                case .failure(let error):
                    let becameUnusable = isUsable[shard] && shards[shard].problem != nil && isUsable.contains(true)
                    let isFull = error.code == .overloaded && isFree.contains(true)
                    if isFull { busy.insert(shard) }
                    for pending in batches[shard] {
                        if becameUnusable || isFull, drafts[pending.index].shardByte == nil {
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

    /// Draws an id, and with it the shard.
    /// - Parameter candidates: for each shard, whether a command without a unique key may go there.
    private func newID(
        for draft: CommandDraft, now: Timestamp, candidates: [Bool], _ random: inout BufferedRandom
    ) -> CommandID {
        if let byte = draft.shardByte { return CommandID(now: now, shardByte: byte, using: &random) }
        var id = CommandID(now: now, shardByte: nil, using: &random)
        // Where every shard is unusable, the insert reports it.
        guard candidates.contains(true) else { return id }
        while !candidates[id.shard(of: shardCount)] { id = CommandID(now: now, shardByte: nil, using: &random) }
        return id
    }

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
                return try shards[shard].write(timeout: timeout[shard]) { connection throws(StoreError) in
                    try connection.insert(drafts, batches[shard], allowUnknownTypes: allowUnknownTypes, now: now)
                }
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

    package func types() throws(StoreError) -> Set<String> {
        var types: Set<String> = []
        for shard in shards {
            let found = try ifUsable { () throws(StoreError) in
                try shard.use { connection throws(StoreError) in try connection.readTypes() }
            }
            if let found {
                types = found
                break
            }
        }
        return types
    }

    package func record(types: Set<String>) throws(StoreError) {
        if let wrong = types.first(where: { !CommandDraft.isType($0) }) {
            throw StoreError.notAType(wrong)
        }
        var loss: StoreError?
        for shard in shards {
            do throws(StoreError) {
                let known = try shard.use { connection throws(StoreError) in try connection.readTypes() }
                guard !types.isSubset(of: known) else { continue }
                try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
                    for type in types { try connection.statement(.addType, type).run() }
                }
            } catch {
                guard error.code.makesShardUnusable else { throw error }
                loss = error
            }
        }
        if let loss { throw loss }
    }
}

extension Connection {
    func readTypes() throws(StoreError) -> Set<String> {
        knownTypes = Set(try statement(.types).rows { $0.text(0) })
        return knownTypes
    }

    /// Whether a worker can run the type, or once could.
    func isKnown(_ type: String) throws(StoreError) -> Bool {
        if knownTypes.contains(type) { return true }
        return try readTypes().contains(type)
    }

    /// Inserts the drafts of this shard. A refused draft does not affect the others.
    func insert(
        _ drafts: [CommandDraft], _ batch: [SQLiteStore.PendingInsert], allowUnknownTypes: Bool, now: Timestamp
    ) throws(StoreError) -> [Result<Submission, StoreError>] {
        var turn = try newTurn() - 1
        var results: [Result<Submission, StoreError>] = []
        results.reserveCapacity(batch.count)
        var rows: [(StoredCommand, payload: [UInt8])] = []
        rows.reserveCapacity(Query.insertSizes[0])
        // Those of batches, and with rate limits, have more columns.
        var wide: [(StoredCommand, payload: [UInt8])] = []
        // Whether the batches take members.
        var problems: [CommandID: StoreError?] = [:]
        for pending in batch {
            let draft = drafts[pending.index]
            let isAllowed = allowUnknownTypes ? true : try isKnown(draft.type)
            guard isAllowed else {
                results.append(.failure(.unknownType(draft.type, known: knownTypes)))
                continue
            }
            if let problem = problem(of: draft) {
                results.append(.failure(problem))
                continue
            }
            if draft.uniqueKey != nil {
                // A draft before it in the batch may hold its key.
                try insert(&rows)
                try insert(&wide, areRelated: true)
                if let found = try existing(draft, pending.digest, at: now) {
                    results.append(found)
                    continue
                }
            }
            if let batch = draft.batch {
                if problems[batch] == nil { problems[batch] = .some(try problem(ofMembersOf: batch)) }
                if let problem = problems[batch] ?? nil {
                    results.append(.failure(problem))
                    continue
                }
            }
            if !draft.dependencies.isEmpty || draft.orderingKey != nil {
                try insert(&rows)
                try insert(&wide, areRelated: true)
                turn += 1
                results.append(try insert(related: draft, pending, turn: turn, now: now))
                continue
            }
            if draft.limit != nil, let problem = try prepareForRelations() {
                results.append(.failure(problem))
                continue
            }
            turn += 1
            var row = StoredCommand(draft, digest: pending.digest, id: pending.id, turn: turn, now: now)
            row.recordCreation(&changes)
            results.append(.success(Submission(id: pending.id, isExisting: false, turn: turn)))
            let isWide = draft.batch != nil || draft.limit != nil
            if isWide { wide.append((row, draft.payload)) } else { rows.append((row, draft.payload)) }
            if rows.count == Query.insertSizes[0] { try insert(&rows) }
            if wide.count == Query.insertSizes[0] { try insert(&wide, areRelated: true) }
        }
        try insert(&rows)
        try insert(&wide, areRelated: true)
        return results
    }

    /// Why a batch takes no members; nil where it does.
    private func problem(ofMembersOf batch: CommandID) throws(StoreError) -> StoreError? {
        if let problem = try prepareForRelations() { return problem }
        let part = try part(of: batch)
        return part?.state == .open ? nil : .cannotJoin(batch, part)
    }

    /// The next turn of the shard.
    func newTurn() throws(StoreError) -> Int64 {
        (try statement(.newestTurn).first { $0.int64(0) } ?? 0) + 1
    }

    /// Why a shard of an earlier version cannot keep a draft.
    private func problem(of draft: CommandDraft) -> StoreError? {
        guard version < 3, draft.uniqueKey != nil, draft.uniqueFor != .kept else { return nil }
        return StoreError(
            .overloaded,
            "Shard \(shard) has version \(version), which keeps a unique key for as long as its command; a period needs "
                + "version 3. The coordinator migrates the store when no worker of the release before runs; try again then.",
            shard: shard)
    }
}
