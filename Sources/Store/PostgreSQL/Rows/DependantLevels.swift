internal import Commands

/// Reads dependants of commands and, in the same round trip, the first dependants of these, as many levels as ``maxRows``
/// reaches, with their nodes and rows.
///
/// Each command of a chain would take a round trip otherwise: with one, the cancellation of 6,000 in a chain took 4.5 times as
/// long as that of 6,000 that wait for one command, and without 1.0 times (2026-12-01, Intel Xeon, 2 cores).
enum DependantLevels {
    /// Rows of a read, over all levels. The first level is whole.
    private static let maxRows = 2048
    /// Dependants of a command that are read, except for a page.
    private static let maxDependants = 16

    /// A recursive query gives one level behind the other, and stops at the limit. Equal rows of a level are there once, or
    /// layers that all wait for each other would multiply.
    private static let levels = """
        WITH RECURSIVE d(parent, child, condition, state, level) AS (
            SELECT n.parent, n.child, n.condition, n.state, 1 FROM unnest($2::int8[]) w(turn) JOIN LATERAL (
                SELECT * FROM dependency x WHERE x.shard = $1 AND x.parent = w.turn AND x.child > $3
                ORDER BY child LIMIT $4) n ON true
            UNION SELECT n.parent, n.child, n.condition, n.state, d.level + 1 FROM d JOIN LATERAL (
                SELECT * FROM dependency x WHERE x.shard = $1 AND x.parent = d.child
                ORDER BY child LIMIT \(maxDependants)) n ON true
        )
        """
    private static let turns =
        "(SELECT child AS turn FROM (SELECT child FROM d LIMIT \(maxRows)) c UNION SELECT unnest($2::int8[])) w"

    private static let dependants = PostgreSQLStatement(
        "dependants", "\(levels) SELECT parent, child, condition, state, level FROM d LIMIT \(maxRows)")
    private static let nodes = PostgreSQLStatement(
        "dependants-nodes",
        """
        \(levels) SELECT n.turn, n.flow, n.name, n.pending, n.flags, n.cause FROM \(turns)
        JOIN LATERAL (SELECT * FROM node x WHERE x.shard = $1 AND x.turn = w.turn LIMIT 1) n ON true
        """)
    private static let commands = PostgreSQLStatement(
        "dependants-commands",
        """
        \(levels) SELECT \(CommandSQL.columns) FROM \(turns)
        JOIN LATERAL (SELECT id FROM related x WHERE x.shard = $1 AND x.turn = w.turn LIMIT 1) i ON true
        \(CommandSQL.row(of: "i.id"))
        """)

    private typealias Row = (dependency: DependencyRow, level: Int)

    /// - Parameter limit: rows of the page, at most ``RelationClosure/maxDependants``.
    /// - Returns: the dependants of a parent behind a child. The shard knows the rows of the other levels from now on.
    static func page(
        of parent: Int64, after child: Int64, limit: Int, in shard: PostgreSQLShard
    ) throws(StoreError) -> [DependencyRow] {
        let rows = try read([parent], after: child, limit: limit, in: shard)
        know(rows, in: shard)
        return rows.prefix { $0.level == 1 }.map(\.dependency)
    }

    /// Lets the shard know commands, and their dependants.
    /// - Parameter parents: at most 64.
    static func load(_ parents: [Int64], in shard: PostgreSQLShard) throws(StoreError) {
        let known = parents.reduce(into: [:]) { $0[$1] = KnownRange<DependencyRow>(max: maxDependants) { $0.child } }
        know(try read(parents, after: 0, limit: maxDependants, in: shard), known, in: shard)
    }

    private static func read(
        _ parents: [Int64], after child: Int64, limit: Int, in shard: PostgreSQLShard
    ) throws(StoreError) -> [Row] {
        if parents.isEmpty { return [] }
        return try shard.transaction.pipeline {
            for statement in [dependants, nodes, commands] {
                $0.append(statement, shard.number, parents, child, limit)
            }
        } read: { (results, first) throws(StoreError) in
            for node in results.take(first + 1).rows({ row in NodeRow(row) }) { shard.know(node) }
            shard.know([], try results.take(first + 2).rows { row throws(StoreError) in try StoredCommand(row) })
            return try results.take(first).rows { row throws(StoreError) -> Row in (try DependencyRow(row), row[4]) }
        }
    }

    /// Takes in the rows of all levels, in their order.
    /// - Parameter ranges: of commands whose dependants are the first level.
    private static func know(
        _ rows: [Row], _ ranges: [Int64: KnownRange<DependencyRow>] = [:], in shard: PostgreSQLShard
    ) {
        // The last level may be cut by the limit: the dependants of the level before it are not all there.
        let lastExpanded = rows.count < maxRows ? Int.max : rows[rows.count - 1].level - 2
        var ranges = ranges
        for row in rows where row.level <= lastExpanded {
            ranges[row.dependency.child] = KnownRange(max: maxDependants) { $0.child }
        }
        for (dependency, _) in rows {
            // One that is reached on two levels has its dependants there twice.
            guard let known = ranges[dependency.parent], !known.rows.contains(where: { $0.child == dependency.child })
            else { continue }
            ranges[dependency.parent]?.know(dependency)
        }
        shard.knownDependants.merge(ranges) { known, _ in known }
    }
}
