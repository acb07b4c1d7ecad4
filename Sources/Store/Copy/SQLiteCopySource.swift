internal import Commands
internal import Host
internal import Synchronization

/// The store of a data directory that is copied, under all its locks.
final class SQLiteCopySource: CopySource {
    let name: String
    let shardCount: Int
    private(set) var store = ""
    private let data: DataDirectory
    var directory: DataDirectory? { data }
    private let access: ExclusiveAccess
    /// The connection that was used last: one at a time is open, so that 256 shards need no 768 descriptors.
    private var opened: Connection?

    /// Takes all locks of the directory, and looks at every shard.
    /// - Throws: `.busy` with the process that uses the directory; `.foreign` for a shard of another version; `.backup`.
    init(_ data: DataDirectory) throws(StoreError) {
        try RestoreMark.check(data)
        shardCount = try data.countShards()
        try DataDirectory.check(data.path, isDirectory: true)
        name = data.resolved.path
        self.data = data
        access = try ExclusiveAccess(data)
        let options = ShardOptions(
            directory: data, count: shardCount, clock: MachineClock(), vfs: nil, walLimit: WALSize.limit)
        for shard in 0..<shardCount {
            try use(shard) { connection throws(StoreError) in
                try connection.checkCopied(shard, options)
            }
        }
        store = options.storeID.withLock { $0 } ?? ""
    }

    var parts: [CopyPart] {
        (0..<shardCount).flatMap { shard in
            [CopyPart(shard: shard)] + CopiedTable.all.map { CopyPart(table: $0, shard: shard) }
        }
    }

    private func use<Value>(
        _ shard: Int, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            if let connection = opened, connection.shard == shard {
                return try connection.use { () throws(StoreError) in try body(connection) }
            }
            opened = nil
            let connection = try Connection(shard: shard, path: data.shard(shard), vfs: nil)
            opened = connection
            return try connection.use { () throws(StoreError) in try body(connection) }
        } catch {
            throw error.about(shard: shard, at: data.shard(shard), writer: nil)
        }
    }

    // MARK: Facts

    func claims() throws(StoreError) -> (sessions: Int, claimed: Int) {
        var workers: Set<Int64> = []
        var claimed = 0
        for shard in 0..<shardCount {
            try use(shard) { connection throws(StoreError) in
                for session in try connection.sessions() { workers.insert(session.epoch) }
                claimed += Int(try connection.integer("SELECT count(*) FROM command WHERE status IN (1, 2)"))
            }
        }
        return (workers.count, claimed)
    }

    func openUploads() throws(StoreError) -> (count: Int, first: [CommandID]) {
        var count = 0
        var first: [CommandID] = []
        for shard in 0..<shardCount {
            try use(shard) { connection throws(StoreError) in
                count += Int(try connection.integer("SELECT count(*) FROM upload WHERE state = 0"))
                first += try connection.statement(sql: "SELECT id FROM upload WHERE state = 0 ORDER BY id LIMIT 3").rows
                {
                    row throws(StoreError) in try row.id(0)
                }
            }
        }
        return (count, Array(first.sorted().prefix(3)))
    }

    func spooledUploads() throws(StoreError) -> Int {
        var count = 0
        for shard in 0..<shardCount {
            count += try use(shard) { connection throws(StoreError) in
                Int(try connection.integer("SELECT count(*) FROM upload \(CopiedTable.isSpooled)"))
            }
        }
        return count
    }

    func isOlderThanSpool() throws(StoreError) -> Bool {
        for shard in 0..<shardCount {
            let marks = try use(shard) { connection throws(StoreError) in
                try connection.integer("SELECT count(*) FROM meta WHERE key = 'olderThanSpool'")
            }
            if marks > 0 { return true }
        }
        return false
    }

    func inboxCount() throws(StoreError) -> Int { 0 }

    func facts() throws(StoreError) -> CopyFacts {
        var facts = CopyFacts()
        for shard in 0..<shardCount {
            try use(shard) { connection throws(StoreError) in
                facts.floors.append(
                    CopyFacts.Floor(
                        seq: try connection.integer("SELECT value FROM meta WHERE key = 'seq'"),
                        turn: try connection.integer("SELECT value FROM meta WHERE key = 'turn'")))
                facts.types.formUnion(try connection.statement(sql: "SELECT name FROM type").rows { $0.text(0) })
                let numbers =
                    ["SELECT seq FROM sqlite_sequence WHERE name = 'outbox'"]
                    + ["outbox", "batch_part", "remote_dependant"].map { "SELECT max(number) FROM \($0)" }
                for sql in numbers { facts.message = max(facts.message, try connection.integer(sql)) }
                guard shard == 0 else { return }
                facts.settings = try connection.statement(sql: "SELECT key, value FROM setting ORDER BY key").rows {
                    (key: $0.text(0), value: $0.text(1))
                }.filter { CopyFacts.isCopied(setting: $0.key) }
            }
        }
        return facts
    }

    func counts() throws(StoreError) -> CommandCounts {
        var counts = CommandCounts()
        for shard in 0..<shardCount {
            let own = try use(shard) { connection throws(StoreError) in try connection.counts() }
            counts.add(own)
        }
        return counts
    }

    func rowCounts(withoutOpenUploads: Bool) throws(StoreError) -> CopyRowCounts {
        var counts: CopyRowCounts = [:]
        for shard in 0..<shardCount {
            try use(shard) { connection throws(StoreError) in
                for (kind, count) in try connection.rowCounts(withoutOpenUploads: withoutOpenUploads) {
                    counts[kind, default: [:]][shard] = count
                }
            }
        }
        return counts
    }

    // MARK: Pages

    func page(_ part: CopyPart, after last: [CopyValue], withoutOpenUploads: Bool) throws(StoreError) -> CopyPage {
        try use(part.shard ?? 0) { connection throws(StoreError) in
            guard let table = part.table else { return try connection.copiedCommands(after: last) }
            return try connection.copiedRows(of: table, after: last, withoutOpenUploads: withoutOpenUploads)
        }
    }
}

extension CommandCounts {
    mutating func add(_ other: CommandCounts) {
        for (status, cells) in other.cells { for (qos, count) in cells where count != 0 { self[status, qos] += count } }
    }
}
