package import Commands
package import Host
internal import Synchronization

/// The clock of a store. Each time that a call writes into the store is a time of this clock, and a time in the store is
/// compared with no other clock.
///
/// All processes that share a store need the same time. A store in files has the wall clock of its machine
/// (``MachineClock``). A store on a server answers with the server's clock.
package protocol StoreClock: Sendable {
    /// The time now. A call to the store reads it once.
    func now() -> Timestamp
    /// Whether this is the wall clock of this machine, which its monotonic clock can check.
    ///
    /// Where it is, a jump of the wall clock is a jump of the store's time: the ends of backoffs are moved along, and ages
    /// and deadlines are not trusted for some minutes (``ClockHold``). Where it is not, a jump or a suspend of this machine
    /// changes no time of the store.
    var followsThisMachine: Bool { get }
}

/// The wall clock of this machine.
package struct MachineClock: StoreClock {
    package init() {}

    package func now() -> Timestamp { Timestamp.now }

    package var followsThisMachine: Bool { true }
}

/// Whether a process trusts the clock of the store for ages and deadlines. It reads the coordinator's ``ClockHold``. Where
/// the clock is this machine's, the process also compares it with the monotonic clock, since the process may decide before
/// the coordinator has seen a jump.
///
/// A clock that does not follow this machine is not compared: a step between the two would be a suspend of this machine, or
/// a new measure of the server's clock, and neither makes the ages in the store wrong.
final class ClockTrust: Sendable {
    private struct State {
        var steps = ClockSteps()
        /// Of the setting, as it was read last.
        var hold: ClockHold?
        var readAt: MonotonicTime?
    }

    private let clock: any StoreClock
    private let state = Mutex(State())
    private let reader = Mutex<(@Sendable () throws(StoreError) -> ClockHold?)?>(nil)

    /// Between two reads of the setting. A process that runs sees a jump itself; the setting is for those that start later.
    private static let interval: Duration = .seconds(1)

    init(_ clock: any StoreClock) { self.clock = clock }

    /// - Parameter read: reads the setting. It is called within transactions of every shard but the first.
    func reads(_ read: @escaping @Sendable () throws(StoreError) -> ClockHold?) { reader.withLock { $0 = read } }

    /// Compares the clocks; call it often, so that a jump is seen.
    func look() {
        guard clock.followsThisMachine else { return }
        state.withLock { _ = $0.steps.hasJumped(wall: clock.now(), now: .now) }
    }

    /// Whether the clock is not trusted.
    func isHeld() -> Bool {
        let reader = reader.withLock { $0 }
        return isHeld { () throws(StoreError) -> ClockHold? in try reader?() ?? nil }
    }

    /// As ``isHeld()``, within a transaction of the first shard.
    /// - Parameter read: reads the setting.
    func isHeld(_ read: () throws(StoreError) -> ClockHold?) -> Bool {
        let now = MonotonicTime.now
        let (hasJumped, isReadDue) = state.withLock { state in
            let hasJumped = clock.followsThisMachine && state.steps.hasJumped(wall: clock.now(), now: now)
            let isDue = state.readAt.map { now - $0 >= Self.interval } ?? true
            if isDue { state.readAt = now }
            return (hasJumped, isDue)
        }
        if isReadDue {
            do throws(StoreError) {
                let hold = try read()
                state.withLock { $0.hold = hold }
            } catch {
                // Where the first shard cannot be read, the last reading counts.
            }
        }
        return hasJumped || state.withLock { $0.hold?.stands(now: now) ?? false }
    }

    /// The setting has changed.
    func readAgain() { state.withLock { ($0.hold, $0.readAt) = (nil, nil) } }
}

/// Finds jumps of the wall clock by the monotonic clock. Pure.
struct ClockSteps: Sendable {
    /// Wall clock minus monotonic clock in milliseconds; nil before the first comparison.
    private var offset: Int64?
    private var heldUntil: MonotonicTime?

    /// Whether the clock has jumped within ``ClockHold/duration``.
    mutating func hasJumped(wall: Timestamp, now: MonotonicTime) -> Bool {
        let current = wall.milliseconds &- now.nanoseconds / 1_000_000
        let step = Duration.milliseconds(current &- (offset ?? current))
        offset = current
        if ClockHold(after: step, now: now) != nil { heldUntil = now + ClockHold.duration }
        guard let heldUntil else { return false }
        if now >= heldUntil { self.heldUntil = nil }
        return now < heldUntil
    }
}

/// The time after a jump of the wall clock, in which ages and deadlines are not trusted: no process deletes, cancels by a
/// deadline or frees a unique key.
///
/// The coordinator writes it into the setting ``SettingKey/clockHold``. It ends by the monotonic clock, because the wall
/// clock may jump again.
package struct ClockHold: Sendable, Hashable {
    package enum Cause: Sendable, Hashable {
        /// The wall clock jumped by this.
        case jump(Duration)
        /// A coordinator started while the wall clock showed a time before the newest transition in the store, or more
        /// than a day after it.
        case start(wall: Timestamp, newest: Timestamp)
    }

    package var cause: Cause
    /// The boot of the machine, whose monotonic clock ``end`` is of.
    package var boot: String
    package var end: MonotonicTime

    /// From the last jump on.
    package static let duration: Duration = .seconds(300)
    /// A smaller step is trusted at once.
    package static let maxStep: Duration = .seconds(10)
    /// A start longer after the newest change in the store is not trusted at once.
    package static let maxIdleTime: Duration = .seconds(86_400)

    package init(_ cause: Cause, boot: String = ProcessIdentity.bootID, now: MonotonicTime) {
        self.cause = cause
        self.boot = boot
        end = now + Self.duration
    }

    /// After a jump of the wall clock.
    /// - Returns: nil after a step that is small enough.
    package init?(after jump: Duration, now: MonotonicTime) {
        guard max(jump, .zero - jump) > Self.maxStep else { return nil }
        self.init(.jump(jump), now: now)
    }

    /// At the start of a coordinator.
    /// - Parameters:
    ///   - newest: the time of the newest transition in the store; nil where there is none.
    ///   - wall: the clock of the store.
    /// - Returns: nil for a clock that fits the store.
    package init?(atStart newest: Timestamp?, wall: Timestamp, now: MonotonicTime) {
        guard let newest, !(.zero - Self.maxStep...Self.maxIdleTime).contains(wall - newest) else { return nil }
        self.init(.start(wall: wall, newest: newest), now: now)
    }

    /// Whether the hold is in force. One of another boot is not: the coordinator decides at its start.
    package func stands(boot: String = ProcessIdentity.bootID, now: MonotonicTime) -> Bool {
        self.boot == boot && now < end
    }
}

extension ClockHold {
    /// `{"jump":691200000,"boot":"…","end":…}`, in milliseconds, of the monotonic clock for the end; or
    /// `{"wall":"2026-03-29T01:00:00.000Z","newest":"…",…}`.
    package var json: JSONValue {
        let cause: [JSONValue.Member] =
            switch cause {
            case .jump(let jump): [.init("jump", .integer(jump.milliseconds))]
            case .start(let wall, let newest):
                [.init("wall", .string(wall.description)), .init("newest", .string(newest.description))]
            }
        return .object(
            cause + [.init("boot", .string(boot)), .init("end", .integer(end.nanoseconds / 1_000_000))])
    }

    /// Reads ``json`` back; nil for anything else.
    package init?(setting: String) {
        guard let value = try? JSONValue(parsing: setting.utf8), let boot = value["boot"]?.string,
            let end = value["end"]?.integer
        else { return nil }
        if let jump = value["jump"]?.integer {
            cause = .jump(.milliseconds(jump))
        } else {
            guard let wall = value["wall"]?.timestamp, let newest = value["newest"]?.timestamp else { return nil }
            cause = .start(wall: wall, newest: newest)
        }
        self.boot = boot
        self.end = .zero + .milliseconds(end)
    }
}

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
