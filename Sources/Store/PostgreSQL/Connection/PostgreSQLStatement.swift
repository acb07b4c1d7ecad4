/// A statement, and whether a connection keeps it prepared.
struct PostgreSQLStatement: Sendable {
    /// The effect of a statement on the transaction of its connection.
    enum Role: Sendable { case work, begin, commit, rollback }

    /// Unique among the statements of the program. Empty: the statement is planned at each use.
    let name: String
    /// One statement, with `$1` and so on for its parameters.
    let sql: String
    let role: Role

    /// A statement that a connection prepares at its first use, and keeps. Planning takes about a millisecond, running it
    /// 20 µs.
    /// - Parameter name: 1…63 bytes. The same name always has the same text.
    init(_ name: String, _ sql: String) {
        precondition(!name.isEmpty, "A statement that is prepared has a name")
        self.init(name, sql, .work)
    }

    /// A statement that is planned at each use, such as one of a migration.
    init(once sql: String) { self.init("", sql, .work) }

    private init(_ name: String, _ sql: String, _ role: Role) {
        precondition(name.utf8.count < 64, "The name of a statement has at most 63 bytes: \(name)")
        (self.name, self.sql, self.role) = (name, sql, role)
    }

    /// The level of isolation does not depend on the settings of the server: each statement sees the commits before it, so
    /// that the statements behind a lock see the work of its last holder.
    ///
    /// `READ WRITE` is left out: a standby refuses it by 0A000, and the write behind it by 25006, which means another server.
    static let begin = PostgreSQLStatement("begin", "BEGIN ISOLATION LEVEL READ COMMITTED", .begin)
    static let commit = PostgreSQLStatement("commit", "COMMIT", .commit)
    static let rollback = PostgreSQLStatement("rollback", "ROLLBACK", .rollback)
}

/// A statement as a connection has prepared it.
struct PreparedStatement: Sendable, Equatable {
    let sql: String
    /// The OIDs of the parameters.
    let types: [UInt32]
}

/// Statements that are sent together and need one round trip. The first error fails the rest.
struct PostgreSQLPipeline: Sendable {
    /// One statement with its parameters: positions in ``types``, ``values`` and ``bytes``.
    struct Item: Sendable {
        var statement: PostgreSQLStatement
        var parameters: Range<Int>
    }

    struct Value: Sendable {
        /// In ``bytes``.
        var offset: Int
        /// -1 for NULL.
        var length: Int32
    }

    private(set) var items: [Item] = []
    private(set) var types: [UInt32] = []
    private(set) var values: [Value] = []
    /// The parameters in PostgreSQL's binary form.
    private(set) var bytes: [UInt8] = []

    /// Adds a statement with its parameters from `$1` on.
    /// - Returns: its position, for ``PostgreSQLResults/take(_:)``.
    @discardableResult
    mutating func append<each Parameter: PostgreSQLValue>(
        _ statement: PostgreSQLStatement, _ parameters: repeat each Parameter
    ) -> Int {
        let first = values.count
        for parameter in repeat each parameters { append(parameter) }
        items.append(Item(statement: statement, parameters: first..<values.count))
        return items.count - 1
    }

    /// Adds a statement whose parameters a description of a table decides.
    @discardableResult
    mutating func append(_ statement: PostgreSQLStatement, all parameters: [any PostgreSQLValue]) -> Int {
        let first = values.count
        for parameter in parameters { append(parameter) }
        items.append(Item(statement: statement, parameters: first..<values.count))
        return items.count - 1
    }

    private mutating func append<Parameter: PostgreSQLValue>(_ parameter: Parameter) {
        let offset = bytes.count
        let isNull = !parameter.encode(to: &bytes)
        guard let length = Int32(exactly: bytes.count - offset) else {
            preconditionFailure("A parameter has \(bytes.count - offset) bytes; the protocol has room for 2 GiB")
        }
        types.append(Parameter.postgreSQLType.rawValue)
        values.append(Value(offset: offset, length: isNull ? -1 : length))
    }

    func prepared(_ item: Item) -> PreparedStatement {
        PreparedStatement(sql: item.statement.sql, types: Array(types[item.parameters]))
    }

    /// Puts a statement without parameters before the others.
    mutating func prepend(_ statement: PostgreSQLStatement) {
        items.insert(Item(statement: statement, parameters: 0..<0), at: 0)
    }
}
