internal import Commands

/// A kind of rows, as a copy counts them and names them in its messages.
package enum CopiedKind: String, Sendable, Hashable, CaseIterable {
    case commands
    case results
    case checkpoints
    case leftovers
    case transitions
    case nodes = "nodes of flows"
    case flows = "flows and batches"
    case dependencies
    case lanes = "ordering keys"
    case waiters = "commands that wait for an ordering key"
    case batchParts = "parts of batches"
    case cascades = "postponed effects"
    case remoteDependencies = "dependencies on other shards"
    case remoteDependants = "dependants in other shards"
    case messages = "messages between shards"
    case schedules
    case uploads
    case uploadBodies = "bodies of uploads"
    case inbox = "commands in the inbox"
    case settings
    case types
}

/// The value of a column on its way from one store to another.
enum CopyValue: Sendable, Equatable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
    case id(CommandID)

    var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    var text: String? { if case .text(let value) = self { value } else { nil } }
    var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
    var id: CommandID? { if case .id(let value) = self { value } else { nil } }

    /// Its bytes in memory, about.
    var size: Int {
        switch self {
        case .null, .integer: 16
        case .text(let text): text.utf8.count + 16
        case .bytes(let bytes): bytes.count + 16
        case .id: 16
        }
    }
}

/// A column that both engines have.
struct CopiedColumn: Sendable {
    enum Kind: Sendable, Equatable {
        case integer
        /// PostgreSQL: `bool`; SQLite: 0 or 1.
        case boolean
        case text
        /// A text for a person, in which a store on PostgreSQL replaces NUL.
        case reason
        case bytes
        case id
    }

    var name: String
    var kind: Kind

    /// Whether a value may have more than a few bytes.
    var isLarge: Bool { kind == .text || kind == .reason || kind == .bytes }

    static func integer(_ name: String) -> Self { Self(name: name, kind: .integer) }
    static func boolean(_ name: String) -> Self { Self(name: name, kind: .boolean) }
    static func text(_ name: String) -> Self { Self(name: name, kind: .text) }
    static func reason(_ name: String) -> Self { Self(name: name, kind: .reason) }
    static func bytes(_ name: String) -> Self { Self(name: name, kind: .bytes) }
    static func id(_ name: String) -> Self { Self(name: name, kind: .id) }
}

/// A table that is copied column by column: both engines have it with the same name and the same columns, but for the
/// column `shard` of PostgreSQL. Commands are not among them, see ``CopiedCommand``.
struct CopiedTable: Sendable {
    var kind: CopiedKind
    var name: String
    /// Names of columns, in whose order a page follows another. With the shard they are unique.
    var key: [String]
    var columns: [CopiedColumn]
    /// The table of PostgreSQL has the column `shard`.
    var hasShard = true
    /// The column with an id that names the shard, where ``key`` is unique among all shards; nil where a page is of one shard, or
    /// follows another in the order of shards.
    var idColumn: Int?
    /// Names of columns that SQLite calls otherwise.
    var namesInSQLite: [String: String] = [:]

    /// The positions of ``key`` in ``columns``.
    var keyColumns: [Int] { key.compactMap { name in columns.firstIndex { $0.name == name } } }

    /// Of uploads that are not open.
    static let isSpooled =
        "WHERE state <> \(UploadState.open.rawValue) AND storage = \(Upload.Storage.file.rawValue)"

    static let uploads = CopiedTable(
        kind: .uploads, name: "upload", key: ["id"],
        columns: [
            .id("id"), .integer("state"), .integer("offset"), .integer("length"), .text("facts"),
            .integer("created_at"), .integer("updated_at"), .integer("due"), .id("command"), .integer("storage"),
            .reason("reason"), .text("idempotency_key"), .bytes("fingerprint"),
        ], idColumn: 0)

    static let all: [CopiedTable] = [
        CopiedTable(
            kind: .transitions, name: "transition", key: ["seq"],
            columns: [
                .integer("seq"), .id("id"), .integer("status"), .integer("at"), .integer("seat"), .integer("claim"),
                .reason("reason"), .integer("previous"),
            ]),
        CopiedTable(
            kind: .nodes, name: "node", key: ["turn"],
            columns: [
                .integer("turn"), .integer("flow"), .text("name"), .integer("pending"), .integer("flags"),
                .integer("cause"),
            ]),
        CopiedTable(
            kind: .dependencies, name: "dependency", key: ["parent", "child"],
            columns: [.integer("parent"), .integer("child"), .integer("condition"), .integer("state")]),
        CopiedTable(
            kind: .flows, name: "flow", key: ["turn"],
            columns: [
                .integer("turn"), .integer("nodes"), .integer("failed"), .integer("first_failed"),
                .boolean("stops_on_failure"),
            ]),
        CopiedTable(
            kind: .lanes, name: "lane", key: ["key"],
            columns: [.text("key"), .integer("max"), .integer("open"), .integer("holder")]),
        CopiedTable(
            kind: .waiters, name: "waiter", key: ["key", "turn"], columns: [.text("key"), .integer("turn")]),
        CopiedTable(
            kind: .batchParts, name: "batch_part", key: ["number"],
            columns: [
                .integer("number"), .id("batch"), .integer("members"), .integer("open"), .integer("failed"),
                .integer("state"),
            ]),
        CopiedTable(
            kind: .cascades, name: "cascade", key: ["turn", "step"],
            columns: [.integer("turn"), .integer("step"), .integer("after")]),
        CopiedTable(
            kind: .remoteDependencies, name: "remote_dependency", key: ["child", "parent"],
            columns: [
                .integer("child"), .id("parent"), .integer("condition"), .integer("state"), .integer("status"),
                .bytes("result"),
            ]),
        CopiedTable(
            kind: .remoteDependants, name: "remote_dependant", key: ["parent", "number"],
            columns: [.integer("number"), .integer("parent"), .id("child"), .boolean("wants_result")]),
        CopiedTable(
            kind: .messages, name: "outbox", key: ["number"],
            columns: [
                .integer("number"), .id("receiver"), .id("sender"), .integer("kind"), .integer("first"),
                .integer("second"), .reason("reason"), .bytes("result"),
            ]),
        CopiedTable(
            kind: .schedules, name: "schedule", key: ["name"],
            columns: [
                .text("name"), .text("definition"), .text("action"), .integer("since"), .integer("next"),
                .integer("last"), .id("last_id"), .integer("fired"), .integer("skipped"), .boolean("paused"),
                .text("reason"), .boolean("configured"),
            ]),
        uploads,
        CopiedTable(
            kind: .uploadBodies, name: "upload_body", key: ["id"], columns: [.id("id"), .bytes("body")],
            hasShard: false, idColumn: 0, namesInSQLite: ["id": "upload"]),
    ]

    /// Only PostgreSQL has it (``InboxStore``). The rows of a copy have other numbers, in the same order.
    static let inbox = CopiedTable(
        kind: .inbox, name: "inbox", key: ["number"],
        columns: [
            .integer("number"), .id("id"), .text("type"), .bytes("payload"), .text("options"), .boolean("is_ordered"),
        ], hasShard: false, idColumn: 1)
}

/// A row of a ``CopiedTable``.
struct CopiedRow: Sendable {
    var shard: Int
    /// In the order of ``CopiedTable/columns``.
    var values: [CopyValue]

    var size: Int { values.reduce(0) { $0 + $1.size } }
}

/// A command with all that belongs to it alone. The engines keep these rows in different tables.
struct CopiedCommand: Sendable {
    var row: StoredCommand
    var payload: [UInt8]
    var checkpoint: [UInt8]?
    var result: [UInt8]?
    /// When the remains that its checkpoint names may be removed; nil without a ``Leftover``.
    var leftoverDue: Timestamp?
    /// It is in the list of ``QueueStore/takeReadyAgain(shard:limit:)``.
    var isReadyAgain: Bool

    /// Its bytes in memory, about.
    var size: Int { 500 + payload.count + (checkpoint?.count ?? 0) + (result?.count ?? 0) }
}
