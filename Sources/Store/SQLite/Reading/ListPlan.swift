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
        func count(_ statuses: CommandStatus...) -> Int {
            statuses.reduce(0) { sum, status in
                sum + (filter.qos.map { counts[status, $0] } ?? counts[status])
            }
        }
        let all = CommandStatus.allCases.reduce(0) { sum, status in
            sum + (filter.status == nil || filter.status == status ? count(status) : 0)
        }
        ranges = []
        guard all > 0 else { return }
        let inFlight = Range(index: "command_in_flight", condition: "status IN (1, 2)")
        let waiting =
            [
                Range(index: "command_ready", condition: "status IN (0, 3) AND not_before = 0"),
                Range(index: "command_held_back", condition: "not_before > 0"),
            ]
            + (indexes.contains(Self.limited)
                ? [Range(index: Self.limited, condition: "status IN (0, 3) AND not_before < 0")] : [])
        let isNewRare = counts[.new] + counts[.error] <= maxSorted
        let others = (filter.qos == nil && filter.destination == nil && filter.type == nil && filter.batch == nil)
        switch filter.status {
        case .queued?, .sent?:
            ranges = [Range(index: inFlight.index, condition: "\(inFlight.condition) AND status = ?4")]
            isExact = others && !filter.isSearch
        case .new? where isNewRare && (others || counts[.new] + counts[.error] <= Self.fewRows):
            ranges = waiting.map { Range(index: $0.index, condition: "\($0.condition) AND status = ?4") }
            isExact = others && !filter.isSearch
        case let status? where Self.isInIndex(status) && indexes.contains(Self.byStatus):
            ranges = [Self.range(of: status)]
            isExact = others && !filter.isSearch
        default: break
        }
        guard ranges.isEmpty else { return }
        if filter.reason != nil, filter.status == nil, isNewRare, indexes.contains(Self.byStatus) {
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
    /// of the filter.
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
        if filter.status != nil { conditions.append("c.status = ?4") }
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
