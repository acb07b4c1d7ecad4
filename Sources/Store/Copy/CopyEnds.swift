internal import Commands
internal import Host

/// Limits of a copy: it holds a page in memory, and what a target has gathered of earlier ones.
enum CopyLimits {
    static let maxRows = 1000
    /// A page ends behind the row that reaches this: a payload has up to 1 MiB.
    static let maxBytes = 4 << 20
}

/// The rows that are read page by page.
struct CopyPart: Sendable {
    /// Nil for commands.
    var table: CopiedTable?
    /// Nil for all shards at once.
    var shard: Int?

    var kind: CopiedKind { table?.kind ?? .commands }
}

/// Rows of a ``CopyPart``, in its order: either commands or rows of its table.
struct CopyPage: Sendable {
    var commands: [CopiedCommand] = []
    var rows: [CopiedRow] = []
    /// The position of the last row. Only the source reads it.
    var last: [CopyValue] = []

    var count: Int { commands.count + rows.count }
}

/// The few values that are copied at once.
struct CopyFacts: Sendable {
    struct Floor: Sendable {
        /// Numbers up to these are not given again.
        var seq: Int64
        var turn: Int64
    }

    /// By shard.
    var floors: [Floor] = []
    /// No message gets a number up to this: a batch drops a message that is not newer than its last one of the same part.
    var message: Int64 = 0
    /// Without those of workers.
    var settings: [(key: String, value: String)] = []
    var types: Set<String> = []
    /// See ``PostgreSQLSchema/Identity/generation``; 0 for a store on SQLite.
    var generation: Int64 = 0

    static func isCopied(setting key: String) -> Bool { !key.hasPrefix(SettingKey.workerPrefix) }
}

/// The number of rows by kind and shard.
typealias CopyRowCounts = [CopiedKind: [Int: Int]]

/// The store that is copied. Nothing changes it for as long as this is used.
protocol CopySource: AnyObject {
    /// For messages, without a password.
    var name: String { get }
    /// The id of the store.
    var store: String { get }
    var shardCount: Int { get }
    /// Has the spool; nil where it is not on this machine.
    var directory: DataDirectory? { get }
    /// In an order in which every shard is read completely.
    var parts: [CopyPart] { get }

    /// The workers that have a session in the store, and the commands that workers have claimed.
    func claims() throws(StoreError) -> (sessions: Int, claimed: Int)
    /// The number of open uploads, and the first three.
    func openUploads() throws(StoreError) -> (count: Int, first: [CommandID])
    /// The number of other uploads with bytes in the spool.
    func spooledUploads() throws(StoreError) -> Int
    /// The store was put back to an earlier moment, and no door has compared the spool with it since.
    func isOlderThanSpool() throws(StoreError) -> Bool
    /// The number of commands that were submitted by SQL, and that no coordinator has taken in.
    func inboxCount() throws(StoreError) -> Int
    func facts() throws(StoreError) -> CopyFacts
    /// The counts that the store keeps.
    func counts() throws(StoreError) -> CommandCounts
    func rowCounts(withoutOpenUploads: Bool) throws(StoreError) -> CopyRowCounts
    /// The rows behind a position, at most ``CopyLimits``; none at the end.
    /// - Parameter last: ``CopyPage/last`` of the page before; empty for the first.
    func page(_ part: CopyPart, after last: [CopyValue], withoutOpenUploads: Bool) throws(StoreError) -> CopyPage
}

/// The store that a copy fills. It is refused by all programs until ``finish()``.
protocol StoreCopyTarget: AnyObject {
    /// Without a password.
    var name: String { get }
    var store: String { get }
    /// See ``StoreCopyReport/host``.
    var host: String? { get }

    func insert(_ page: CopyPage, of part: CopyPart) throws(StoreError)
    /// Writes the facts and the counts, behind the last page.
    func write(_ facts: CopyFacts) throws(StoreError)
    /// Computed from the rows.
    func counts() throws(StoreError) -> CommandCounts
    func rowCounts() throws(StoreError) -> CopyRowCounts
    /// Releases the commands that are claimed, uncharged, as the reap of a dead worker does.
    /// - Returns: their number by their new status.
    func release(reason: String) throws(StoreError) -> [CommandStatus: Int]
    /// Makes the copy durable and lets programs use it.
    func finish() throws(StoreError)
}

extension CopyMark {
    /// The stores as arguments in a shell.
    static func arguments(_ source: any CopySource, _ target: String) -> String {
        "\(quoted(source.name)) \(quoted(target))"
    }

    private static func quoted(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "/:@,.-_%+=".utf8.contains(byte)
            }
        }
        return isPlain ? name : "'\(name.replacing("'", with: #"'\''"#))'"
    }
}
