internal import Commands

/// Reads a batch: what its row has been told, and the parts that have not told yet. Pure.
struct BatchReading {
    private(set) var state: BatchState
    /// By shard: it has not told its end.
    private let openParts: [Bool]

    /// Nil where `row` is not a batch.
    init?<Rows: RelationRows>(_ row: StoredCommand, shardCount: Int, _ rows: inout Rows) throws(StoreError) {
        guard row.relations.contains(.batch), let counts = try rows.flow(row.command.turn) else { return nil }
        let payload = try rows.payload(of: row.id).flatMap { try? JSONValue(parsing: $0) }
        state = BatchState(
            command: row.command, name: payload?["name"]?.string ?? "", isSealed: true, members: counts.nodes, open: 0,
            failed: counts.failed)
        let told = Set(
            try rows.remoteDependencies(of: row.command.turn).filter { $0.state == .satisfied }.map(\.parent))
        openParts = (0..<shardCount).map { !told.contains(row.id.part(in: $0)) }
    }

    func isOpen(shard: Int) -> Bool { openParts[shard] }

    /// Adds a part that has not told its end.
    mutating func add(_ part: BatchPart?) {
        guard let part else { return }
        state.members += part.members
        state.open += part.open
        state.failed += part.failed
        if part.state == .open { state.isSealed = false }
    }
}
