internal import Commands

/// The commands of a filter among the next candidates of a shard.
struct ListSlice: Sendable {
    var commands: [Command] = []
    /// The last candidate; nil where no more follow.
    var through: CommandID?
    var scanned = 0
}

extension Connection {
    func listPlan(_ filter: CommandFilter, maxSorted: Int) throws(StoreError) -> ListPlan {
        ListPlan(filter, counts: try counts(), maxSorted: maxSorted, indexes: try indexNames())
    }

    /// Looks at the next candidates of a plan, in one read transaction.
    /// - Parameters:
    ///   - after: excluded; nil starts at the first.
    ///   - limit: the number of candidates.
    func slice(
        _ plan: ListPlan, _ filter: CommandFilter, _ order: CommandOrder, after: CommandID?, limit: Int
    ) throws(StoreError) -> ListSlice {
        guard !plan.ranges.isEmpty else { return ListSlice() }
        var (lower, upper) = filter.idBounds
        if let after {
            if order == .oldestFirst { lower = max(lower, after) } else { upper = min(upper, after) }
        }
        let statement = try statement(sql: plan.sql(order))
        defer { statement.reset() }
        statement.bind(lower, at: 1)
        statement.bind(upper, at: 2)
        statement.bind(limit, at: 3)
        if let changed = filter.changedFrom { statement.bind(changed, at: 4) }
        if let qos = filter.qos { statement.bind(qos, at: 5) }
        if let destination = filter.destination { statement.bind(destination.text, at: 6) }
        if let type = filter.type { statement.bind(type, at: 7) }
        if let reason = filter.reason { statement.bind(reason.asciiLowercased, at: 8) }
        if let subject = filter.subject { statement.bind(Array(subject.utf8), at: 9) }
        var slice = ListSlice()
        while try statement.step() {
            slice.scanned += 1
            let id = try statement.id(1)
            if slice.through.map({ order.precedes($0, id) }) ?? true { slice.through = id }
            guard statement.bool(Query.columnCount) else { continue }
            if plan.readsPayload, !filter.admits(payload: statement.bytes(Query.columnCount + 1)) { continue }
            slice.commands.append(try StoredCommand(statement, self).command)
        }
        if slice.scanned < limit { slice.through = nil }
        // SQLite keeps the order of the candidates, but does not promise it.
        slice.commands.sort { order.precedes($0.id, $1.id) }
        return slice
    }

    func counts() throws(StoreError) -> CommandCounts {
        let statement = try statement(.counts)
        defer { statement.reset() }
        var counts = CommandCounts()
        while try statement.step() { counts[try statement.status(0), try statement.qos(1)] = statement.int(2) }
        return counts
    }

    /// The indexes of `command`.
    private func indexNames() throws(StoreError) -> Set<String> {
        let names = try statement(
            sql: "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'command'"
        ).rows { $0.text(0) }
        return Set(names)
    }

    /// The lines of `EXPLAIN QUERY PLAN` for the statement of a list.
    func explain(_ plan: ListPlan, _ order: CommandOrder) throws(StoreError) -> [String] {
        try Statement("EXPLAIN QUERY PLAN \(plan.sql(order))", sharing: self).rows { $0.text(3) }
    }
}
