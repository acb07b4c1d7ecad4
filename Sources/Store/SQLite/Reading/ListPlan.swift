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
