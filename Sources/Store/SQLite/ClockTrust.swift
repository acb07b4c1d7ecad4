internal import Commands
internal import Host
internal import Synchronization

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
