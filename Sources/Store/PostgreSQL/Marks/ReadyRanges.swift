internal import Commands

/// The parts of the indexes of `ready` that a look for keys reads, as arrays for `unnest`.
///
/// Where nothing is known of a shard, they are all of it. Else each key of a known destination is looked up behind its mark,
/// and what lies between these destinations is sought through. An upper bound is one column: a scan that ends at a bound of
/// several columns reads on to the end of the first one's value.
struct ReadyRanges: Sendable {
    /// Keys that are looked up. The limit is empty for a key without one.
    struct Probes: Sendable {
        var shards: [Int] = []
        var limits: [String] = []
        var destinations: [String] = []
        var qos: [Int] = []
        var marks: [Int64] = []
    }

    /// Destinations, or limits, between two known ones. A command of theirs has a turn behind `newest`.
    struct Gaps: Sendable {
        var shards: [Int] = []
        /// Of the destinations; empty for gaps of commands without a limit.
        var limits: [String] = []
        var first: [String] = []
        /// The quality of service of `first` behind which the gap begins.
        var firstQoS: [Int] = []
        var last: [String] = []
        var newest: [Int64] = []

        /// - Parameter known: destinations or limits, ascending.
        fileprivate mutating func add(_ shard: Int, limit: String = "", between known: [String], newest: Int64) {
            for index in 0...known.count {
                shards.append(shard)
                limits.append(limit)
                first.append(index == 0 ? "" : known[index - 1])
                firstQoS.append(index == 0 ? -1 : Int(Int16.max))
                // No text is greater in the order of bytes.
                last.append(index == known.count ? "\u{10FFFF}" : known[index])
                self.newest.append(newest)
            }
        }
    }

    /// Of keys without a limit, and with one.
    private(set) var plain = Probes()
    private(set) var limited = Probes()
    private(set) var destinations = Gaps()
    private(set) var limitedDestinations = Gaps()
    private(set) var limits = Gaps()

    /// Adds all keys of a shard.
    mutating func add(_ shard: Int) { add(shard, [:], newest: -1) }

    /// - Parameters:
    ///   - marks: turns up to which keys have no command.
    ///   - newest: the turn up to which the other keys have none.
    mutating func add(_ shard: Int, _ marks: [ReadyKey: Int64], newest: Int64) {
        var known: [String: Set<String>] = [:]
        for key in marks.keys { known[key.limit ?? "", default: []].insert(key.destination.text) }
        for (limit, texts) in known {
            for destination in texts {
                for qos in QualityOfService.allCases {
                    let key = ReadyKey(
                        destination: Destination(unchecked: destination), qos: qos, limit: limit.isEmpty ? nil : limit)
                    let mark = marks[key] ?? newest
                    if limit.isEmpty { plain.add(shard, key, mark) } else { limited.add(shard, key, mark) }
                }
            }
            if !limit.isEmpty {
                limitedDestinations.add(shard, limit: limit, between: Self.sorted(texts), newest: newest)
            }
        }
        destinations.add(shard, between: Self.sorted(known[""] ?? []), newest: newest)
        limits.add(shard, between: Self.sorted(known.keys.filter { !$0.isEmpty }), newest: newest)
    }

    /// In the order of bytes, as the indexes are.
    private static func sorted(_ texts: some Collection<String>) -> [String] {
        texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}

extension ReadyRanges.Probes {
    fileprivate mutating func add(_ shard: Int, _ key: ReadyKey, _ mark: Int64) {
        shards.append(shard)
        limits.append(key.limit ?? "")
        destinations.append(key.destination.text)
        qos.append(key.qos.rawValue)
        marks.append(mark)
    }
}

/// The statements of a look.
extension ReadyRanges {
    private static func probes(_ name: String, where condition: String) -> PostgreSQLStatement {
        PostgreSQLStatement(
            name,
            """
            SELECT w.shard, nullif(w.rate_limit, ''), w.destination, w.qos, r.turn
            FROM unnest($1::int8[]::int2[], $2::text[], $3::text[], $4::int8[], $5::int8[])
                w(shard, rate_limit, destination, qos, mark)
            JOIN LATERAL (SELECT turn FROM ready WHERE shard = w.shard AND \(condition) AND destination = w.destination
                AND qos = w.qos AND turn > w.mark ORDER BY turn LIMIT 1) r ON true
            """)
    }

    /// Seeks from one key to the next.
    private static func gaps(_ name: String, of column: String, where condition: String) -> PostgreSQLStatement {
        let columns = column == "rate_limit" ? ["rate_limit", "destination", "qos"] : ["destination", "qos"]
        let (names, limit) = (
            columns.joined(separator: ", "), column == "rate_limit" ? "k.rate_limit" : "nullif(w.rate_limit, '')"
        )
        // The first command of a gap has any destination and quality that belong to its limit.
        let start = column == "rate_limit" ? "rate_limit > w.first" : "(destination, qos) > (w.first, w.first_qos)"
        func next(after bound: String) -> String {
            """
            SELECT \(names), turn FROM ready r WHERE shard = w.shard AND \(condition) AND \(bound)
            AND r.\(column) < w.last AND turn > w.newest ORDER BY \(names), turn LIMIT 1
            """
        }
        func row(_ alias: String) -> String { "(\(columns.map { "\(alias).\($0)" }.joined(separator: ", ")))" }
        return PostgreSQLStatement(
            name,
            """
            SELECT w.shard, \(limit), k.destination, k.qos::int8, k.turn
            FROM unnest($1::int8[]::int2[], $2::text[], $3::text[], $4::int8[], $5::text[], $6::int8[])
                w(shard, rate_limit, first, first_qos, last, newest)
            CROSS JOIN LATERAL (
                WITH RECURSIVE k AS (
                    (\(next(after: start)))
                    UNION ALL
                    SELECT n.* FROM k JOIN LATERAL (\(next(after: "\(row("r")) > \(row("k"))"))) n ON true)
                SELECT * FROM k) k
            """)
    }

    private static let plainProbes = probes("ready-probes", where: "rate_limit IS NULL")
    private static let limitedProbes = probes(
        "limited-probes", where: "rate_limit IS NOT NULL AND rate_limit = w.rate_limit")
    private static let destinationGaps = gaps("ready-keys", of: "destination", where: "rate_limit IS NULL")
    private static let limitedDestinationGaps = gaps(
        "limited-destinations", of: "destination", where: "rate_limit IS NOT NULL AND rate_limit = w.rate_limit")
    private static let limitGaps = gaps("limited-keys", of: "rate_limit", where: "rate_limit IS NOT NULL")

    /// Adds the statements that have something to read.
    func append(to pipeline: inout PostgreSQLPipeline) -> Int {
        var count = 0
        for (statement, probes) in [(Self.plainProbes, plain), (Self.limitedProbes, limited)]
        where !probes.shards.isEmpty {
            pipeline.append(statement, probes.shards, probes.limits, probes.destinations, probes.qos, probes.marks)
            count += 1
        }
        let gaps = [
            (Self.destinationGaps, destinations), (Self.limitedDestinationGaps, limitedDestinations),
            (Self.limitGaps, limits),
        ]
        for (statement, gaps) in gaps where !gaps.shards.isEmpty {
            pipeline.append(statement, gaps.shards, gaps.limits, gaps.first, gaps.firstQoS, gaps.last, gaps.newest)
            count += 1
        }
        return count
    }
}
