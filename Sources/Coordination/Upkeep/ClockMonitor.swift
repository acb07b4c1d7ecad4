internal import CLinux
package import Commands
internal import Glibc
package import Host
internal import Logging
internal import Store

/// Follows the wall clock, where it is the clock of the store. Where it jumps, the backoffs in the store are moved along,
/// because a backoff is elapsed time whose end is stored as wall-clock time; and for some minutes no process trusts the
/// clock for ages and deadlines (``ClockHold``). Confined to the loop.
///
/// A store whose clock does not follow this machine has no jumps of it: nothing is compared or moved. The hold of the start
/// and the clamp are the same, because they compare the clock of the store with the times in the store.
final class ClockMonitor {
    private let environment: CoordinatorEnvironment
    private let dispatch: DispatchRunner
    private let clock: any StoreClock
    private var wallClock: WallClock
    /// Jumps that the backoffs of a shard have still to follow.
    private var owedJumps: [Int: [WallClock.Jump]] = [:]
    /// Shards whose waits are still to be clamped after the start.
    private var owedClamps: Set<Int>
    /// Jumps whose last turns in a shard are still to be read.
    private var owedTurns: [Int: [ClockJumps.Jump]] = [:]
    /// The jumps of the ready queue differ from the setting.
    private var areJumpsNew = false
    /// Until when the clock is not trusted.
    private var hold: ClockHold?
    /// ``hold`` differs from the setting.
    private var isHoldNew: Bool

    /// Reaps and due times wait behind settings, so these wait for another writer no longer than this.
    private static let timeout: Duration = .seconds(1)

    /// - Parameters:
    ///   - hold: as the start has found it, see ``ClockHold/init(atStart:wall:now:)``.
    ///   - jumps: as earlier coordinators have seen them.
    init(_ environment: CoordinatorEnvironment, dispatch: DispatchRunner, hold: ClockHold?, jumps: ClockJumps) {
        self.environment = environment
        self.dispatch = dispatch
        self.hold = hold
        isHoldNew = hold != nil
        clock = environment.store.clock
        wallClock = WallClock(offset: ClockRecord.read(in: environment.runDirectory))
        owedClamps = Set(0..<environment.store.shardCount)
        dispatch.dispatcher.queue.clockJumps = jumps
        if clock.followsThisMachine, wallClock.offset == nil, case .start(let wall, let newest)? = hold?.cause,
            wall < newest
        {
            // Since the boot. The time in between cannot be told.
            add(wall - newest, wall: wall)
        }
    }

    /// Whether the wall clock is not trusted for ages and deadlines.
    var isHeld: Bool { hold != nil }

    /// Compares the clocks; call it in each round, before what acts by the wall clock: a command that is read or dispatched
    /// between a jump and this has the wrong age.
    /// - Returns: how far the wall clock jumped since the last call; nil where it did not.
    func compare(now: MonotonicTime) -> Duration? {
        guard clock.followsThisMachine else { return nil }
        let before = wallClock.offset
        let jump = wallClock.jump(wall: clock.now(), monotonic: now)
        if let offset = wallClock.offset, jump != nil || before == nil {
            ClockRecord.write(offset, in: environment.runDirectory)
        }
        if let jump { follow(jump, now: now) }
        return jump?.by
    }

    /// Lets the store follow; call it 4 times a second.
    func run(now: MonotonicTime) {
        if let hold, !hold.stands(now: now) {
            environment.logger.info("The wall clock has been steady for 5 minutes, and is trusted again.")
            (self.hold, isHoldNew) = (nil, true)
        }
        record()
        for shard in 0..<environment.store.shardCount where !dispatch.dispatcher.locked.contains(shard) {
            // A shard that another process keeps locked has its turn when it is free.
            for jump in owedTurns.removeValue(forKey: shard) ?? [] { readLastTurn(of: shard, before: jump) }
            for jump in owedJumps.removeValue(forKey: shard) ?? [] { shiftBackoffs(of: shard, by: jump) }
            if owedClamps.remove(shard) != nil { clampWaits(of: shard) }
        }
    }

    private func follow(_ jump: WallClock.Jump, now: MonotonicTime) {
        let new = ClockHold(after: jump.by, now: now)
        environment.logger.warning(
            """
            The wall clock jumped by \(jump.by.seconds) s; backoffs are moved along\
            \(new == nil ? "" : ", and for 5 minutes nothing is deleted or cancelled by its age").
            """)
        for shard in 0..<environment.store.shardCount { owedJumps[shard, default: []].append(jump) }
        add(jump.by, wall: clock.now())
        if let new { (hold, isHoldNew) = (new, true) }
    }

    /// Keeps the jump for the order and the ages of commands.
    private func add(_ jump: Duration, wall: Timestamp) {
        let jump = ClockJumps.Jump(by: jump, wall: wall, shardCount: environment.store.shardCount)
        dispatch.dispatcher.wallClockJumped(jump)
        for shard in 0..<environment.store.shardCount { owedTurns[shard, default: []].append(jump) }
        areJumpsNew = true
    }

    private func readLastTurn(of shard: Int, before jump: ClockJumps.Jump) {
        environment.store.read("The commands before a jump of the clock cannot be found", isUrgent: true) {
            store throws(StoreError) in
            try store.lastTurn(shard: shard, outside: jump.times)
        } then: { [self] turn in
            dispatch.dispatcher.queue.clockJumps.setLastTurn(turn, shard: shard, of: jump)
            areJumpsNew = true
        } otherwise: { [self] error in
            if !error.code.makesShardUnusable { owedTurns[shard, default: []].append(jump) }
        }
    }

    private func record() {
        guard isHoldNew || areJumpsNew, !dispatch.dispatcher.locked.contains(0) else { return }
        (isHoldNew, areJumpsNew) = (false, false)
        let values = [
            (SettingKey.clockHold, hold?.json.text),
            (SettingKey.clockJumps, dispatch.dispatcher.queue.clockJumps.json.text),
        ]
        environment.store.write("The jump of the clock cannot be recorded") { store throws(StoreError) in
            try store.set(values, timeout: Self.timeout)
        } otherwise: { [self] error in
            if !error.code.makesShardUnusable { (isHoldNew, areJumpsNew) = (true, true) }
        }
    }

    private func clampWaits(of shard: Int) {
        environment.store.write("Backoffs cannot be clamped") { store throws(StoreError) in
            try store.clampWaits(shard: shard)
        } otherwise: { [self] error in
            if !error.code.makesShardUnusable { owedClamps.insert(shard) }
        }
    }

    private func shiftBackoffs(of shard: Int, by jump: WallClock.Jump) {
        environment.store.write("Backoffs cannot be moved") { store throws(StoreError) in
            try store.shiftBackoffs(shard: shard, by: jump.by, writtenBefore: jump.writtenBefore)
        } otherwise: { [self] error in
            // Each jump applies to the rows that were written before it, so a failed one may follow a later
            // one.
            if !error.code.makesShardUnusable { owedJumps[shard, default: []].append(jump) }
        }
    }
}

/// Notices when the wall clock jumps. A backoff is elapsed time, but its end is stored as wall-clock time.
/// Pure; both clocks are passed in.
package struct WallClock: Sendable {
    /// Wall clock minus monotonic clock, in milliseconds; nil before the first comparison.
    package private(set) var offset: Int64?
    /// The latest time that the wall clock showed before a jump.
    private var latest: Timestamp?

    /// A jump of the wall clock, and the backoffs that it affects.
    package struct Jump: Sendable, Hashable {
        package var by: Duration
        /// After a jump forward, halfway between the old time and the new: rows that were written later have
        /// seen the jump. Nil where these cannot be told from older rows: after a jump back, and after a jump
        /// forward to times that the clock has shown before.
        package var writtenBefore: Timestamp?
    }

    /// Smaller steps come from clock discipline and are harmless.
    package static let tolerance: Duration = .seconds(2)

    /// - Parameter offset: as an earlier coordinator found it on this boot; nil where none did.
    package init(offset: Int64? = nil) { self.offset = offset }

    /// - Parameters:
    ///   - wall: the wall clock now.
    ///   - monotonic: the monotonic clock now.
    /// - Returns: how the wall clock jumped since the last call; nil where it did not.
    package mutating func jump(wall: Timestamp, monotonic: MonotonicTime) -> Jump? {
        let current = wall.milliseconds - monotonic.nanoseconds / 1_000_000
        guard let before = offset else {
            offset = current
            return nil
        }
        let jump = current - before
        guard abs(jump) > Self.tolerance.milliseconds else { return nil }
        offset = current
        let unmoved = wall + .milliseconds(-jump)
        let latest = max(latest ?? unmoved, unmoved)
        self.latest = latest
        let middle = wall + .milliseconds(-jump / 2)
        return Jump(by: .milliseconds(jump), writtenBefore: jump > 0 && latest < middle ? middle : nil)
    }
}

/// The difference of the clocks when a coordinator last compared them, so that the next one notices a jump in
/// between.
///
/// A file in `run/`. It holds for one boot, because the monotonic clock begins with it, so it is not synced.
enum ClockRecord {
    /// - Returns: wall clock minus monotonic clock, in milliseconds; nil where there is no record of this
    ///   boot.
    static func read(in run: RunDirectory) -> Int64? {
        let words = TextFile.read(run.clock)?.split(whereSeparator: \.isWhitespace) ?? []
        guard words.count == 2, words[0] == ProcessIdentity.bootID else { return nil }
        return Int64(words[1])
    }

    /// Where the record cannot be written, the next coordinator takes the clock as it is.
    static func write(_ offset: Int64, in run: RunDirectory) {
        let (path, next) = (run.clock, run.clock + ".new")
        let descriptor = clinux_open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        let text = "\(ProcessIdentity.bootID) \(offset)\n"
        let count = text.withCString { Glibc.write(descriptor, $0, strlen($0)) }
        close(descriptor)
        if count == text.utf8.count { rename(next, path) } else { unlink(next) }
    }
}
