import Commands
import Host
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Stores that are copied to each other, in directories and schemas of their own.
final class StoreCopyRig: Sendable {
    private let directory: TemporaryDirectory
    private let schemas = Mutex<[String]>([])
    private let count = Mutex(0)
    let url: String

    /// - Throws: where no suite with the trait ``Testing/Trait/postgreSQLServer`` is running.
    init() throws {
        guard let server = PostgreSQLServerTrait.running.withLock({ $0 }) else {
            throw Missed("the suite lacks the trait .postgreSQLServer, which starts the server")
        }
        url = server.socketURL()
        directory = try TemporaryDirectory("copy")
    }

    deinit {
        directory.remove()
        guard let location = try? PostgreSQLLocation(url),
            var connection = try? PostgreSQLConnection.open(location, deadline: .soon)
        else { return }
        for schema in schemas.withLock({ $0 }) { _ = try? connection.run("DROP SCHEMA IF EXISTS \(schema) CASCADE") }
    }

    // MARK: Places

    /// A directory without a store.
    func sqlite() -> StoreCopy.Place {
        let number = count.withLock { count in
            count += 1
            return count
        }
        return .directory(DataDirectory(path: "\(directory.path)/data\(number)"))
    }

    /// The name of a schema that does not exist.
    func postgreSQL() -> StoreCopy.Place {
        let name = "copy_\(UInt64.random(in: 0 ... .max))"
        schemas.withLock { $0.append(name) }
        return .server(url: url, schema: name)
    }

    /// A store at a place, which it makes.
    func make(_ place: StoreCopy.Place, shardCount: Int = 4) throws -> StoreUnderTest {
        switch place {
        case .directory(let data): try data.create(shardCount: shardCount)
        case .server(let url, let schema):
            try PostgreSQLStore.create(url: url, schema: schema, shardCount: shardCount)
        }
        return try open(place)
    }

    /// The store at a place. A copy of a directory needs it to be closed: the last reference is gone.
    func open(_ place: StoreCopy.Place) throws -> StoreUnderTest {
        let clock = SettableClock()
        switch place {
        case .directory(let data):
            return StoreUnderTest(try SQLiteStore(directory: data, create: false, clock: clock), clock: clock)
        case .server(let url, let schema):
            return StoreUnderTest(try PostgreSQLStore(url: url, schema: schema, clock: clock), clock: clock)
        }
    }

    /// Runs a statement in a schema or in each shard of a directory, as no program does.
    func run(_ sql: String, in place: StoreCopy.Place) throws {
        switch place {
        case .directory(let data):
            for shard in try data.shards() {
                let connection = try Connection(shard: shard, path: data.shard(shard), vfs: nil)
                try connection.use { () throws(StoreError) in try connection.execute(sql) }
            }
        case .server: _ = try rows(sql, in: place)
        }
    }

    /// Runs a query in a schema.
    func rows(_ sql: String, in place: StoreCopy.Place) throws -> PostgreSQLResult {
        guard case .server(let url, _) = place else { throw Missed("not a server") }
        var connection = try PostgreSQLConnection.open(PostgreSQLLocation(url), deadline: .soon)
        try connection.run("SET search_path = \(schema(of: place))")
        return try connection.run(sql)
    }

    func schema(of place: StoreCopy.Place) throws -> String {
        guard case .server(_, let schema?) = place else { throw Missed("not a schema") }
        return schema
    }

    /// Runs `body` within a closure that throws other errors.
    static func expect(_ body: () throws -> Void) {
        do { try body() } catch { Issue.record(error) }
    }

    /// The error of `body`.
    static func error(of body: () throws -> Void) throws -> StoreError {
        do { try body() } catch let error as StoreError { return error }
        throw Missed("no error")
    }

    // MARK: Content

    /// All rows of a closed directory but its identity, as SQLite prints them: “table: column|column”, in order.
    static func rows(of place: StoreCopy.Place) throws -> [String] {
        guard case .directory(let data) = place else { throw Missed("not a directory") }
        var found: [String] = []
        for shard in try data.shards() {
            let connection = try Connection(shard: shard, path: data.shard(shard), vfs: nil)
            let lines = try connection.use { () throws(StoreError) in
                var lines: [String] = []
                let tables = try connection.statement(
                    sql:
                        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
                ).rows { $0.text(0) }
                for table in tables where table != "meta" {
                    // The number of a body is not more than a place in the table.
                    let columns = try connection.statement(
                        sql: "SELECT name FROM pragma_table_info('\(table)')"
                    ).rows { $0.text(0) }.filter { table != "upload_body" || $0 != "number" }
                    let values = columns.map { "quote(\"\($0)\")" }.joined(separator: " || '|' || ")
                    lines += try connection.statement(sql: "SELECT \(values) FROM \"\(table)\" ORDER BY 1").rows {
                        "\(shard) \(table): \($0.text(0))"
                    }
                }
                return lines
            }
            found += lines.filter { !$0.contains(" setting: 'worker.") }
        }
        return found
    }

    /// The difference of two lists of rows, for a message.
    static func difference(_ first: [String], _ second: [String]) -> String {
        let (before, after) = (Set(first), Set(second))
        return
            (first.filter { !after.contains($0) }.prefix(5).map { "- \($0.prefix(600))" }
            + second.filter { !before.contains($0) }.prefix(5).map { "+ \($0.prefix(600))" })
            .joined(separator: "\n")
    }
}

/// The content of a store as its roles read it, one fact a line.
func contentOfStore(_ store: any CommandStore) throws -> [String] {
    var lines: [String] = []
    var after: CommandID?
    var commands: [Command] = []
    repeat {
        let page = try store.page(CommandFilter(), order: .oldestFirst, after: after, limit: 1000, until: nil)
        commands += page.commands
        after = page.next
    } while after != nil
    for command in commands {
        let id = command.id
        lines.append("command \(command)")
        lines.append("payload \(id) \(String(describing: try store.payload(id)))")
        lines.append("result \(id) \(String(describing: try store.result(id)))")
        lines.append("timeline \(id) \(try store.timeline(id))")
        lines.append("flow \(id) \(String(describing: try store.flow(id)))")
        lines.append("nodes \(id) \(try store.flowNodes(id, after: 0, limit: 1000))")
        lines.append("dependencies \(id) \(String(describing: try store.dependencies(of: id, limit: 100)))")
        lines.append("key \(id) \(String(describing: try store.orderingKey(of: id)))")
        lines.append("parents \(id) \(try store.parentResults(of: id, after: 0, limit: 100))")
        lines.append("batch \(id) \(String(describing: try store.batch(id)))")
        if let key = command.uniqueKey {
            let unique = UniqueKey(type: command.type, orderingKey: command.orderingKey ?? "", key: key)
            lines.append(
                "holder \(key) \(String(describing: try store.holder(of: unique, shardByte: id.shardByte)))")
        }
    }
    for shard in 0..<store.shardCount {
        let events = try store.events(shard: shard, after: 0, limit: .max).events
        lines += events.map { "event \(shard) \($0)" }
        lines.append("last \(shard) \(try store.lastTransition(shard: shard))")
        lines.append("open \(shard) \(try store.openFlows(shard: shard, limit: 100))")
        lines.append("batches \(shard) \(try store.openBatches(shard: shard, limit: 100))")
        lines.append("messages \(shard) \(try store.outbox(shard: shard, after: 0, limit: 1000))")
        lines.append("again \(shard) \(try store.hasReadyAgain(shard: shard))")
        let keys = try store.readyKeys(shard: shard)
        for key in keys {
            lines.append("ready \(shard) \(try store.ready(shard: shard, key: key, afterTurn: 0, limit: 1000))")
        }
        lines += try store.readyCounts(shard: shard).map { "limit \(shard) \($0.key) \($0.value)" }
        for upload in try store.uploads(shard: shard, state: nil, order: .oldestFirst, after: nil, limit: 1000) {
            lines.append("upload \(upload) \(String(describing: try store.uploadBody(upload.id)))")
        }
    }
    lines += try store.schedules().map { "schedule \($0)" }
    lines += try store.settings(prefix: "").filter { CopyFacts.isCopied(setting: $0.key) }.map { "setting \($0)" }
    lines += try store.types().map { "type \($0)" }
    lines += try store.commands(ofRequestKeys: RequestKey.prefix).map { "request \($0)" }
    let counts = try store.counts()
    for status in CommandStatus.allCases {
        for qos in QualityOfService.allCases where counts[status, qos] != 0 {
            lines.append("count \(status) \(qos) \(counts[status, qos])")
        }
    }
    return lines.sorted()
}
