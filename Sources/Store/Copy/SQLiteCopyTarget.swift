internal import Commands
internal import Host
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The store of a data directory that a copy fills, under all its locks.
final class SQLiteCopyTarget: StoreCopyTarget {
    /// Rows of a shard that wait for a transaction: a page of a server has rows of all shards, and a sync a shard and page
    /// would take most of the time.
    private struct Buffer {
        var commands: [CopiedCommand] = []
        var rows: [(table: CopiedTable, row: CopiedRow)] = []
        var bytes = 0

        static let maxBytes = 1 << 20
        var isFull: Bool { bytes >= Self.maxBytes || commands.count + rows.count >= CopyLimits.maxRows }
    }

    let name: String
    private(set) var store = ""
    let host: String? = nil
    private let data: DataDirectory
    private let shardCount: Int
    private let access: ExclusiveAccess
    private var connections: [Int: Connection] = [:]
    private var buffers: [Int: Buffer] = [:]
    /// Bytes of all buffers beyond which each is written: 256 shards have 256 of them.
    private static let maxBufferedBytes = 32 << 20

    /// Makes the shards where there are none, takes all locks of the directory, and leaves the mark.
    /// - Throws: `.invalid` where the store is not empty or has another number of shards.
    init(_ data: DataDirectory, of source: any CopySource) throws(StoreError) {
        try Self.removeUnfinished(data)
        try data.create(shardCount: source.shardCount)
        name = data.resolved.path
        shardCount = try data.countShards()
        self.data = data
        access = try ExclusiveAccess(data)
        guard shardCount == source.shardCount else {
            throw StoreError.shardsDiffer(source, name, shardCount)
        }
        let options = ShardOptions(
            directory: data, count: shardCount, clock: MachineClock(), vfs: nil, walLimit: WALSize.limit)
        for shard in 0..<shardCount {
            let isEmpty = try use(shard) { connection throws(StoreError) in
                try connection.checkCopied(shard, options)
                return try connection.isEmpty()
            }
            guard isEmpty else { throw StoreError.notEmpty(name, shard: shard) }
        }
        store = options.storeID.withLock { $0 } ?? ""
        try RestoreMark.set(data, CopyMark.firstLine + CopyMark.arguments(source, name))
    }

    /// Removes the shards of a copy that was interrupted.
    private static func removeUnfinished(_ data: DataDirectory) throws(StoreError) {
        func isUnfinished() -> Bool { CopyMark.arguments(inFile: TextFile.read(data.restoring)) != nil }
        guard isUnfinished() else { return }
        let access = try ExclusiveAccess(data)
        // Another copy may have begun before the locks were free.
        guard isUnfinished() else { return }
        for shard in try data.shards() {
            do throws(SystemError) { try DatabaseFile.remove(data.shard(shard)) } catch { throw StoreError(error) }
        }
        for mark in [data.run.created, data.run.creating] where unlink(mark) != 0 && errno != ENOENT {
            throw StoreError(SystemError("remove", mark))
        }
        try RestoreMark.remove(data)
        withExtendedLifetime(access) {}
    }

    private func use<Value>(
        _ shard: Int, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            let connection: Connection
            if let open = connections[shard] {
                connection = open
            } else {
                connection = try Connection(shard: shard, path: data.shard(shard), vfs: nil)
                connections[shard] = connection
            }
            return try connection.use { () throws(StoreError) in try body(connection) }
        } catch {
            throw error.about(shard: shard, at: data.shard(shard), writer: nil)
        }
    }

    /// Runs `body` in a transaction that records no transitions.
    private func write(_ shard: Int, _ body: (Connection) throws(StoreError) -> Void) throws(StoreError) {
        try use(shard) { connection throws(StoreError) in
            try connection.execute("BEGIN IMMEDIATE")
            do throws(StoreError) {
                try body(connection)
                try connection.execute("COMMIT")
            } catch {
                connection.rollback()
                throw error
            }
            // No other process has the file open, so no other checkpoint can race with this one.
            if connection.walBytes > WALSize.checkpointThreshold { _ = try connection.checkpoint() }
        }
    }

    // MARK: Rows

    func insert(_ page: CopyPage, of part: CopyPart) throws(StoreError) {
        for command in page.commands {
            let shard = command.row.id.shard(of: shardCount)
            buffers[shard, default: Buffer()].commands.append(command)
            buffers[shard, default: Buffer()].bytes += command.size
        }
        if let table = part.table {
            for row in page.rows {
                buffers[row.shard, default: Buffer()].rows.append((table, row))
                buffers[row.shard, default: Buffer()].bytes += row.size
            }
        }
        let isOver = buffers.values.reduce(0) { $0 + $1.bytes } > Self.maxBufferedBytes
        for (shard, buffer) in buffers where isOver || buffer.isFull { try flush(shard) }
    }

    private func flush(_ shard: Int) throws(StoreError) {
        guard let buffer = buffers.removeValue(forKey: shard) else { return }
        try write(shard) { connection throws(StoreError) in
            for command in buffer.commands { try connection.insert(command) }
            for (table, row) in buffer.rows { try connection.insert(row, into: table) }
        }
    }

    func write(_ facts: CopyFacts) throws(StoreError) {
        for shard in buffers.keys.sorted() { try flush(shard) }
        for shard in 0..<shardCount {
            let floor = shard < facts.floors.count ? facts.floors[shard] : CopyFacts.Floor(seq: 0, turn: 0)
            try write(shard) { connection throws(StoreError) in
                for (key, value) in [("seq", floor.seq), ("turn", floor.turn)] {
                    try connection.statement(sql: "UPDATE meta SET value = ?2 WHERE key = ?1", key, value).run()
                }
                if facts.message > 0 { try connection.continueMessages(after: facts.message) }
                for type in facts.types.sorted() { try connection.statement(.addType, type).run() }
                try connection.execute(
                    "INSERT OR REPLACE INTO counts SELECT status, qos, count(*) FROM command GROUP BY status, qos")
                guard shard == 0 else { return }
                let statement = try connection.statement(sql: "INSERT INTO setting(key, value) VALUES (?1, ?2)")
                for (key, value) in facts.settings {
                    statement.bind(key, value)
                    try statement.run()
                }
            }
        }
    }

    // MARK: The end

    func counts() throws(StoreError) -> CommandCounts {
        var counts = CommandCounts()
        for shard in 0..<shardCount {
            counts.add(try use(shard) { connection throws(StoreError) in try connection.counts() })
        }
        return counts
    }

    func rowCounts() throws(StoreError) -> CopyRowCounts {
        var counts: CopyRowCounts = [:]
        for shard in 0..<shardCount {
            for (kind, count) in try use(
                shard, { connection throws(StoreError) in try connection.rowCounts(withoutOpenUploads: false) })
            {
                counts[kind, default: [:]][shard] = count
            }
        }
        return counts
    }

    func release(reason: String) throws(StoreError) -> [CommandStatus: Int] {
        var released: [CommandStatus: Int] = [:]
        for shard in 0..<shardCount {
            let own = try use(shard) { connection throws(StoreError) in
                try connection.transaction { connection throws(StoreError) in
                    try connection.releaseClaimed(reason: reason, now: MachineClock().now())
                }
            }
            released.merge(own) { $0 + $1 }
        }
        return released
    }

    func finish() throws(StoreError) {
        for shard in 0..<shardCount {
            try use(shard) { connection throws(StoreError) in _ = try connection.checkpoint() }
        }
        connections = [:]
        try RestoreMark.remove(data)
        withExtendedLifetime(access) {}
    }
}

extension StoreError {
    /// - Parameter target: the name of the store.
    static func notEmpty(_ target: String, shard: Int? = nil) -> StoreError {
        StoreError(
            .invalid, "\(target) is not empty; copy to a store that does not exist yet, or that nothing has used.",
            shard: shard)
    }

    static func shardsDiffer(_ source: any CopySource, _ target: String, _ count: Int) -> StoreError {
        StoreError(
            .invalid,
            "\(source.name) has \(source.shardCount) shards, and \(target) has \(count): the turns of commands, by which flows "
                + "and keys name them, belong to a shard, so both need the same number; copy to a store that does not exist "
                + "yet, which gets it.")
    }
}

extension Connection {
    /// Whether nothing was ever written to the shard but its tables and known types.
    fileprivate func isEmpty() throws(StoreError) -> Bool {
        let tables = ["command", "transition", "upload", "schedule", "session", "setting", "outbox"]
        let rows = tables.map { "EXISTS (SELECT 1 FROM \($0))" }.joined(separator: " OR ")
        return try integer("SELECT \(rows) OR (SELECT value FROM meta WHERE key = 'seq') > 0") == 0
    }
}
