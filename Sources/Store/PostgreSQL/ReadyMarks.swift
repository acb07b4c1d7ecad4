internal import Commands
internal import Host
internal import Synchronization

/// Where a look for ready commands begins, in each shard and key.
///
/// The indexes of `ready` keep the entries of deleted rows for as long as any open transaction might see them, and a look from
/// the head of a key steps over all of them. Turns ascend in the order of commits, so that a key gets no command below the
/// first one that a look has found, except out of turn. Such a command was moved by this process, which lowers the mark, or is
/// in `ready_again`, from which this process takes it. Once a minute a look begins at the head all the same.
struct ReadyMarks: Sendable {
    private struct Shard: Sendable {
        /// A key that is not in ``keys`` has no command up to this turn.
        var newest: Int64
        /// The turns up to which keys have no command.
        var keys: [ReadyKey: Int64]
        var lookedFromHead: MonotonicTime
    }

    /// A look at the keys of a shard.
    struct Look: Sendable {
        let shard: Int
        fileprivate let isFromHead: Bool
        fileprivate let lowered: Int
    }

    static let interval: Duration = .seconds(60)
    /// Keys of a shard beyond which no marks are kept.
    static let maxKeys = 256

    private var shards: [Int: Shard] = [:]
    /// How often commands of a shard became ready out of turn.
    private var lowered: [Int: Int] = [:]

    /// Begins a look, and adds its ranges.
    func begin(_ shard: Int, _ ranges: inout ReadyRanges, now: MonotonicTime) -> Look {
        let state = shards[shard]
        let isFromHead = state.map { now - $0.lookedFromHead >= Self.interval } ?? true
        if let state, !isFromHead {
            ranges.add(shard, state.keys, newest: state.newest)
        } else {
            ranges.add(shard)
        }
        return Look(shard: shard, isFromHead: isFromHead, lowered: lowered[shard] ?? 0)
    }

    /// Takes in what a look has found.
    /// - Parameters:
    ///   - found: the first turn of each key that has a command.
    ///   - newest: the number of the newest transition before the look.
    mutating func end(_ look: Look, found: [ReadyKey: Int64], newest: Int64, now: MonotonicTime) {
        let state = shards[look.shard]
        // A command that became ready meanwhile may not have been seen.
        guard lowered[look.shard] ?? 0 == look.lowered else { return }
        var keys = state?.keys.mapValues { max($0, newest) } ?? [:]
        if keys.count + found.count > Self.maxKeys { keys = [:] }
        for (key, turn) in found { keys[key] = turn - 1 }
        guard keys.count <= Self.maxKeys else {
            shards[look.shard] = nil
            return
        }
        let last = look.isFromHead ? now : state?.lookedFromHead ?? now
        shards[look.shard] = Shard(newest: newest, keys: keys, lookedFromHead: last)
    }

    /// A command became ready out of turn: call it after its commit.
    mutating func lower(_ shard: Int, _ key: ReadyKey, _ turn: Int64) {
        lowered[shard, default: 0] += 1
        guard let state = shards[shard] else { return }
        shards[shard]?.keys[key] = min(state.keys[key] ?? state.newest, turn - 1)
    }

    /// It is not known which commands became ready.
    mutating func forget(_ shard: Int) {
        lowered[shard, default: 0] += 1
        shards[shard] = nil
    }

    /// The turn up to which a key has no command; 0 where that is not known.
    func start(of key: ReadyKey, in shard: Int) -> Int64 {
        guard let state = shards[shard] else { return 0 }
        return max(state.keys[key] ?? state.newest, 0)
    }
}

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

/// Where a look for rows that are due begins, in each shard.
///
/// Rows that were due are gone, and their index keeps their entries for as long as any open transaction might see them. A row
/// whose time has passed when it is committed was decided at most ``slack`` before. Once a minute a look begins at the head all
/// the same.
final class TimeMarks: Sendable {
    private struct State {
        var marks: [Int: Timestamp] = [:]
        var now = Timestamp.zero
        var lookedFromHead: MonotonicTime?
    }

    /// Longer than a transaction takes from its first statement on (`statement_timeout`).
    static let slack: Duration = .seconds(30)
    private static let interval: Duration = .seconds(60)
    /// A new measure of the server's clock may put it back a little.
    private static let maxStep: Duration = .seconds(5)

    private let state = Mutex(State())

    /// The times at which a look at shards begins.
    func begin(_ shards: [Int], now: Timestamp) -> [Timestamp] {
        state.withLock { state in
            let time = MonotonicTime.now
            // The clock was set back, or a minute is over.
            let isBack = state.now - now > Self.maxStep
            if isBack || state.lookedFromHead.map({ time - $0 >= Self.interval }) ?? true {
                (state.marks, state.lookedFromHead) = ([:], time)
            }
            state.now = now
            return shards.map { state.marks[$0] ?? .zero }
        }
    }

    func mark(of shard: Int) -> Timestamp { state.withLock { $0.marks[shard] ?? .zero } }

    /// Takes in what a look has found.
    /// - Parameters:
    ///   - first: the time of the first row; nil where there is none.
    ///   - now: of the look.
    func end(_ shard: Int, first: Timestamp?, now: Timestamp) {
        let end = Timestamp(milliseconds: max(now.milliseconds - Self.slack.milliseconds, 0))
        state.withLock { $0.marks[shard] = min(first ?? end, end) }
    }

    /// Rows were moved to earlier times.
    func forget() { state.withLock { $0.lookedFromHead = nil } }
}
