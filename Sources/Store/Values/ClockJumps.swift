package import Commands

/// The jumps of the wall clock that a coordinator has seen, each with the turns that were the newest before it. So the times
/// in rows, which the wall clock has written before, between and after its jumps, become times of one steady clock: neither
/// order nor age follows a jump, also where a row is read again later, or by another coordinator. Pure.
///
/// The coordinator keeps them in the setting ``SettingKey/clockJumps``.
package struct ClockJumps: Sendable, Hashable {
    package struct Jump: Sendable, Hashable {
        package var by: Duration
        /// The times that the wall clock shows after the jump, and did not show shortly before it.
        package var times: Range<Timestamp>
        /// By shard, the newest turn before the jump. Nil until it is known: then a row belongs behind the jump where its time
        /// is one of ``times``.
        package var lastTurns: [Int64?]

        /// - Parameter wall: the wall clock after the jump.
        package init(by jump: Duration, wall: Timestamp, shardCount: Int) {
            by = jump
            lastTurns = Array(repeating: nil, count: shardCount)
            let half = Duration.milliseconds(jump.milliseconds.magnitude / 2)
            // The jump is seen within a second. After a jump back the clock shows times again that rows have from before.
            times =
                jump < .zero
                ? wall + .seconds(-1)..<wall + half : wall + (.zero - half)..<Timestamp(milliseconds: .max)
        }

        /// Whether a row was written after the jump.
        func precedes(_ time: Timestamp, shard: Int, turn: Int64) -> Bool {
            guard lastTurns.indices.contains(shard), let last = lastTurns[shard] else { return times.contains(time) }
            return turn > last
        }
    }

    package private(set) var jumps: [Jump] = []
    /// The sum of the jumps that are not kept any more.
    private var forgotten: Duration = .zero

    /// Jumps that are kept. A command that has waited since before all of them is as much too old or too young as the ones
    /// that are forgotten say.
    package static let maxCount = 32

    package init() {}

    /// The sum of all jumps.
    private var sum: Duration { jumps.reduce(forgotten) { $0 + $1.by } }

    /// The time of a row.
    package func steady(_ time: Timestamp, shard: Int, turn: Int64) -> Timestamp {
        // Behind a jump is behind all before it.
        let seen = jumps.lastIndex { $0.precedes(time, shard: shard, turn: turn) }.map { jumps[...$0] } ?? []
        return time + (.zero - seen.reduce(forgotten) { $0 + $1.by })
    }

    /// The time now.
    package func steady(now: Timestamp) -> Timestamp { now + (.zero - sum) }

    package mutating func add(_ jump: Jump) {
        jumps.append(jump)
        if jumps.count > Self.maxCount { forgotten += jumps.removeFirst().by }
    }

    /// The newest turn of a shard before a jump is known.
    package mutating func setLastTurn(_ turn: Int64, shard: Int, of jump: Jump) {
        guard let index = jumps.lastIndex(where: { $0.by == jump.by && $0.times == jump.times }),
            jumps[index].lastTurns.indices.contains(shard)
        else { return }
        jumps[index].lastTurns[shard] = turn
    }
}

extension ClockJumps {
    /// `[{"by":691200000,"from":…,"to":…,"turns":[17,null,…]}]`, in milliseconds.
    package var json: JSONValue {
        .array(
            jumps.map { jump in
                .object([
                    .init("by", .integer(jump.by.milliseconds)),
                    .init("from", .integer(jump.times.lowerBound.milliseconds)),
                    .init("to", .integer(jump.times.upperBound.milliseconds)),
                    .init("turns", .array(jump.lastTurns.map { $0.map { .integer($0) } ?? .null })),
                ])
            })
    }

    /// Reads ``json`` back; none for anything else.
    package init(setting: String?) {
        guard let setting, case .array(let values)? = try? JSONValue(parsing: setting.utf8) else { return }
        for value in values.suffix(Self.maxCount) {
            guard let by = value["by"]?.integer, let from = value["from"]?.integer, let to = value["to"]?.integer,
                from <= to, case .array(let turns)? = value["turns"]
            else { continue }
            var jump = Jump(by: .milliseconds(by), wall: .zero, shardCount: 0)
            jump.times = Timestamp(milliseconds: from)..<Timestamp(milliseconds: to)
            jump.lastTurns = turns.map(\.integer)
            jumps.append(jump)
        }
    }
}
