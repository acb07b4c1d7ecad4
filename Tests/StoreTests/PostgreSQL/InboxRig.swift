import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// A store with an inbox, and the sessions of programs that submit by SQL.
struct InboxRig: Sendable {
    let schema: PostgreSQLTestSchema
    let store: PostgreSQLStore

    static let shardCount = 8

    /// Runs `body` on a thread that may block.
    static func run<Value: Sendable>(
        url: String? = nil, _ body: @escaping @Sendable (InboxRig) throws -> Value
    ) async throws -> Value {
        try await BlockingPool.shared.run { () throws(any Error) in
            let schema = try PostgreSQLTestSchema(shardCount: shardCount)
            defer { schema.remove() }
            return try body(
                InboxRig(schema: schema, store: try PostgreSQLStore(url: url ?? schema.url, schema: schema.name)))
        }
    }

    // MARK: Programs

    /// A session of a program.
    /// - Parameter user: its role; nil: the owner of the schema.
    func connect(as user: String? = nil) throws -> PostgreSQLConnection {
        let url = user.map { schema.url.replacing("postgres://postgres@", with: "postgres://\($0)@") } ?? schema.url
        return try PostgreSQLConnection.open(PostgreSQLLocation(url), deadline: .soon)
    }

    /// Calls the function.
    /// - Parameter arguments: SQL.
    func submit(_ arguments: String, _ connection: inout PostgreSQLConnection) throws -> CommandID {
        let result = try connection.run("SELECT \(schema.name).submit(\(arguments))")
        guard let id = result.first({ row in row[0] as CommandID }) else { throw Missed("no id") }
        return id
    }

    func submit(_ arguments: String) throws -> CommandID {
        var connection = try connect()
        return try submit(arguments, &connection)
    }

    /// The error of a statement.
    func error(of sql: String, as user: String? = nil) throws -> PostgreSQLError {
        var connection = try connect(as: user)
        return try connection.error { connection throws(PostgreSQLError) in
            _ = try connection.execute(PostgreSQLStatement(once: sql), deadline: .soon)
        }
    }

    // MARK: The inbox

    /// The number of entries.
    func inboxCount() throws -> Int {
        var connection = try connect()
        return try connection.run("SELECT count(*) FROM \(schema.name).inbox").first { row in row[0] as Int } ?? -1
    }

    /// The entries, which stay.
    func entries() throws -> [InboxEntry] {
        var connection = try connect()
        return try connection.run("SELECT id, type, payload, options FROM \(schema.name).inbox ORDER BY number").rows {
            row in
            InboxEntry(id: row[0], type: row[1], payload: row[2], options: Array((row[3] as String).utf8))
        }
    }

    /// Moves entries until there are no more.
    @discardableResult
    func move(
        _ look: InboxLook = .whole, limit: Int = 100,
        _ check: ([InboxEntry]) throws(StoreError) -> [InboxVerdict] = { entries in InboxRig.accept(entries) }
    ) throws -> InboxRound {
        var all = InboxRound()
        while true {
            let round = try store.moveInbox(look, limit: limit, check)
            all.ids += round.ids
            all.ready += round.ready
            all.refused += round.refused
            all.problem = round.problem
            if !round.hasMore { return all }
        }
    }

    /// Makes drafts of the keys and parents of entries.
    static func accept(_ entries: [InboxEntry]) -> [InboxVerdict] {
        entries.map { entry in
            var draft = CommandDraft(
                type: entry.type, payload: entry.payload, destination: .none, idempotent: true)
            let options = (try? JSONValue(parsing: entry.options)) ?? .object([])
            draft.uniqueKey = options["uniqueKey"]?.string
            draft.orderingKey = options["orderingKey"]?.string
            draft.limit = options["limit"]?.string
            draft.batch = options["batch"]?.string.flatMap { CommandID($0) }
            draft.deadline = options["deadline"]?.string.flatMap { Timestamp(rfc3339: $0) }
            if case .array(let parents) = options["after"] {
                draft.dependencies = parents.compactMap { $0.string.flatMap { CommandID($0) } }.map {
                    Dependency(on: $0)
                }
            }
            return .draft(draft)
        }
    }

    /// The status of a command with its reason.
    func state(_ id: CommandID) throws -> InboxState {
        guard let command = try store.command(id) else { throw Missed("no command \(id)") }
        return InboxState(status: command.status, reason: command.reason ?? "")
    }

    /// Whether the rows of commands, their relations and their counts agree.
    func check() throws {
        for shard in 0..<Self.shardCount {
            let problems = try store.relationProblems(shard: shard)
            guard problems.isEmpty else { throw Missed("shard \(shard): \(problems)") }
        }
        var counted = CommandCounts()
        for command in try store.list(CommandFilter(), after: nil, limit: 10_000) {
            counted[command.status, command.qos] += 1
        }
        let stored = try store.counts()
        for status in CommandStatus.allCases {
            guard stored[status] == counted[status] else {
                throw Missed("\(status): \(stored[status]) stored, \(counted[status]) counted")
            }
        }
    }
}

struct InboxState: Equatable, Sendable {
    var status: CommandStatus
    var reason: String
}
