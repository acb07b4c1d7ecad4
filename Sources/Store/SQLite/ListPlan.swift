internal import Commands

/// How a shard finds the commands of a filter in the order of their ids: through the index that leaves the
/// fewest rows to look at. Pure.
///
/// Only statuses that few commands of a healthy store have are in an index of their own. An index over `new` or
/// `success` would add a B-tree operation to each claim and finish (16.6 instead of 12.9 µs, in a replica of the
/// statements in C on one thread). Indexes over (type, qos, id) and (destination, id) took 28 % from the rate of a bulk
/// submit (135,800 instead of 96,900 a second, medians of three). So a rare `new` is found by the indexes of the queue,
/// and what is rare by its type, quality, destination or success by a walk over the ids.
struct ListPlan: Equatable {
    /// A part of an index. Its rows are in the order of the ids, unless the rows are so few that they are
    /// sorted.
    struct Range: Equatable {
        var index: String
        var condition: String
    }

    /// The commands of the filter are in these ranges. Empty: the shard has none.
    var ranges: [Range]
    /// Every row of the ranges belongs to the list.
    var isExact: Bool
    let condition: String
    let readsPayload: Bool

    static let limited = "command_limited"
    static let byStatus = "command_by_status"
    /// The index of the ids, by SQLite's name.
    static let byID = "sqlite_autoindex_command_1"
    /// Rows of a shard that are read for a status and another field.
    private static let fewRows = 2_000
    /// Rows of all shards that are read and sorted for the status `new`.
    static let maxSorted = 20_000

    /// - Parameters:
    ///   - counts: of the shard.
    ///   - maxSorted: rows of this shard that may be sorted.
    ///   - indexes: those that the shard has. A shard of an older version has fewer.
    init(_ filter: CommandFilter, counts: CommandCounts, maxSorted: Int, indexes: Set<String>) {
        condition = Self.condition(of: filter)
        readsPayload = filter.subject != nil
        isExact = false
        let statuses = CommandStatus.allCases.filter { status in
            (filter.statuses.isEmpty || filter.statuses.contains(status))
                && (filter.qos.map { counts[status, $0] } ?? counts[status]) > 0
        }
        ranges = []
        guard !statuses.isEmpty else { return }
        let inFlight = Range(index: "command_in_flight", condition: "status IN (1, 2)")
        let waiting =
            [
                Range(index: "command_ready", condition: "status IN (0, 3) AND not_before = 0"),
                Range(index: "command_held_back", condition: "not_before > 0"),
            ]
            + (indexes.contains(Self.limited)
                ? [Range(index: Self.limited, condition: "status IN (0, 3) AND not_before < 0")] : [])
        let isNewRare = counts[.new] + counts[.error] <= maxSorted
        let others =
            filter.qos == nil && filter.destination == nil && filter.type == nil && filter.batch == nil
            && filter.changedFrom == nil
        /// Nil for a status that only a walk over the ids finds.
        func own(_ status: CommandStatus) -> [Range]? {
            let isStatus = "status = \(status.rawValue)"
            switch status {
            case .queued, .sent:
                return [Range(index: inFlight.index, condition: "\(inFlight.condition) AND \(isStatus)")]
            case .new where isNewRare && (others || counts[.new] + counts[.error] <= Self.fewRows):
                return waiting.map { Range(index: $0.index, condition: "\($0.condition) AND \(isStatus)") }
            case _ where Self.isInIndex(status) && indexes.contains(Self.byStatus): return [Self.range(of: status)]
            default: return nil
            }
        }
        let found = filter.statuses.isEmpty ? [] : statuses.map(own)
        if !found.isEmpty, found.allSatisfy({ $0 != nil }) {
            ranges = found.flatMap { $0 ?? [] }
            isExact = others && !filter.isSearch
            return
        }
        if filter.reason != nil, filter.statuses.isEmpty, isNewRare, indexes.contains(Self.byStatus) {
            // A success has no reason.
            ranges = CommandStatus.allCases.filter(Self.isInIndex).map(Self.range) + [inFlight] + waiting
        } else {
            ranges = [Range(index: Self.byID, condition: "1")]
            isExact = condition == "1" && !readsPayload
        }
    }

    /// The rows of the next candidates in the order of their ids, with the columns of ``Query/columns``, then
    /// whether the command belongs to the list, then its payload where that is needed.
    ///
    /// Parameters: ?1 and ?2 bound the ids, both excluded; ?3 is the number of candidates, ?4 to ?9 the fields
    /// of the filter. The statuses are literals, because a partial index serves no parameter.
    func sql(_ order: CommandOrder) -> String {
        let direction = order == .oldestFirst ? "ASC" : "DESC"
        func candidates(_ range: Range) -> String {
            """
            SELECT turn, id FROM command INDEXED BY \(range.index) WHERE \(range.condition) AND id > ?1 AND id < ?2 \
            ORDER BY id \(direction) LIMIT ?3
            """
        }
        var inner = ranges.first.map(candidates) ?? "SELECT 0 AS turn, x'' AS id WHERE 0"
        if ranges.count > 1 {
            // UNION, because `error` is in an index of its own and in those of the queue.
            inner =
                ranges.map { "SELECT * FROM (\(candidates($0)))" }.joined(separator: " UNION ")
                + " ORDER BY id \(direction) LIMIT ?3"
        }
        return """
            SELECT \(Query.columns), (\(condition)), \(readsPayload ? "p.body" : "NULL") FROM (\(inner)) k \
            CROSS JOIN command c ON c.turn = k.turn\(readsPayload ? " CROSS JOIN payload p ON p.turn = k.turn" : "")
            """
    }

    private static func isInIndex(_ status: CommandStatus) -> Bool {
        switch status {
        case .error, .cancelled, .blocked, .inDoubt, .tooManyTimes: true
        case .new, .queued, .sent, .success: false
        }
    }

    private static func range(of status: CommandStatus) -> Range {
        Range(index: byStatus, condition: "status > 2 AND status <> 4 AND status = \(status.rawValue)")
    }

    private static func condition(of filter: CommandFilter) -> String {
        var conditions: [String] = []
        if !filter.statuses.isEmpty {
            let values = filter.statuses.map(\.rawValue).sorted().map(String.init)
            conditions.append("c.status IN (\(values.joined(separator: ", ")))")
        }
        if filter.changedFrom != nil { conditions.append("c.updated_at >= ?4") }
        if filter.qos != nil { conditions.append("c.qos = ?5") }
        if filter.destination != nil { conditions.append("c.destination = ?6") }
        if filter.type != nil { conditions.append("c.type = ?7") }
        if let batch = filter.batch {
            conditions.append("c.batch_id = x'\(batch.description.filter { $0 != "-" })'")
        }
        if filter.reason != nil { conditions.append("c.reason IS NOT NULL AND instr(lower(c.reason), ?8) > 0") }
        if filter.subject != nil {
            // A name with an escape in its JSON is compared after parsing.
            conditions.append(#"(instr(p.body, ?9) > 0 OR instr(p.body, x'5C') > 0)"#)
        }
        return conditions.isEmpty ? "1" : conditions.joined(separator: " AND ")
    }
}

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

/// Merges the slices of the shards by id. Pure.
struct ListMerge {
    private struct Part {
        var buffer: ArraySlice<Command> = []
        /// Looked at up to this one; nil: nothing yet.
        var through: CommandID?
        var hasMore = true
    }

    enum Step {
        case command(Command)
        /// The next command may be in this shard: read a slice after that id.
        case read(shard: Int, after: CommandID?)
        case end
    }

    private var parts: [Part]
    private let order: CommandOrder

    init(shards: Int, after: CommandID?, order: CommandOrder) {
        parts = Array(repeating: Part(through: after), count: shards)
        self.order = order
    }

    mutating func next() -> Step {
        var best: (shard: Int, id: CommandID)?
        for (shard, part) in parts.enumerated() {
            if let head = part.buffer.first {
                if best.map({ order.precedes(head.id, $0.id) }) ?? true { best = (shard, head.id) }
            }
        }
        // A shard that has not been read so far may have a command before the best one.
        if let behind, best.map({ best in parts[behind].through.map { order.precedes($0, best.id) } ?? true }) ?? true {
            return .read(shard: behind, after: parts[behind].through)
        }
        guard let best, let command = parts[best.shard].buffer.popFirst() else { return .end }
        return .command(command)
    }

    mutating func add(_ slice: ListSlice?, shard: Int) {
        parts[shard].buffer = slice?.commands[...] ?? []
        parts[shard].hasMore = slice?.through != nil
        if let through = slice?.through { parts[shard].through = through }
    }

    /// Every shard has been looked at up to this id; nil where one has not been read at all.
    var frontier: CommandID? { behind.flatMap { parts[$0].through } }

    /// The shard that has been looked at least far, of those whose next command is not known.
    private var behind: Int? {
        var found: Int?
        for (shard, part) in parts.enumerated() where part.buffer.isEmpty && part.hasMore {
            guard let through = part.through else { return shard }
            guard let other = found, let least = parts[other].through else {
                found = shard
                continue
            }
            if order.precedes(through, least) { found = shard }
        }
        return found
    }
}
