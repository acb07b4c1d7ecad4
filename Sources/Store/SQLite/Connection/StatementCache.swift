/// The statements that a connection keeps prepared.
struct StatementCache {
    private struct InsertKey: Hashable {
        var insert: Query.Insert
        var rows: Int
    }

    /// By ``Query/index``.
    private var queries: [Statement?] = []
    private var texts: [String: Statement] = [:]
    private var inserts: [InsertKey: Statement] = [:]

    mutating func statement(
        _ query: Query, version: Int, on database: OpaquePointer
    ) throws(StoreError) -> Statement {
        if query.index < queries.count, let statement = queries[query.index] { return statement }
        let statement = try Statement(query.sql(version: version), on: database)
        while queries.count <= query.index { queries.append(nil) }
        queries[query.index] = statement
        return statement
    }

    mutating func statement(
        _ sql: String, version: Int, on database: OpaquePointer
    ) throws(StoreError) -> Statement {
        if let statement = texts[sql] { return statement }
        let statement = try Statement(Query.adapt(sql, to: version), on: database)
        texts[sql] = statement
        return statement
    }

    mutating func statement(
        _ insert: Query.Insert, rows: Int, version: Int, on database: OpaquePointer
    ) throws(StoreError) -> Statement {
        let key = InsertKey(insert: insert, rows: rows)
        if let statement = inserts[key] { return statement }
        let statement = try Statement(insert.sql(rows: rows, version: version), on: database)
        inserts[key] = statement
        return statement
    }
}
