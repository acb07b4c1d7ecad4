internal import Commands
internal import Host
internal import Logging
internal import Store

/// Moves the backoffs in the store along where the wall clock jumps: a backoff is elapsed time, but its end
/// is stored as wall-clock time. Confined to the loop.
final class ClockMonitor {
    private let environment: CoordinatorEnvironment
    private let dispatch: DispatchRunner
    private var wallClock: WallClock
    /// Jumps that the backoffs of a shard have still to follow.
    private var owedJumps: [Int: [WallClock.Jump]] = [:]

    init(_ environment: CoordinatorEnvironment, dispatch: DispatchRunner) {
        self.environment = environment
        self.dispatch = dispatch
        wallClock = WallClock(offset: ClockRecord.read(in: environment.runDirectory))
    }

    /// Compares the clocks; call it 4 times a second.
    /// - Returns: how far the wall clock jumped since the last call; nil where it did not.
    func run(now: MonotonicTime) -> Duration? {
        let before = wallClock.offset
        let jump = wallClock.jump(wall: .now, monotonic: now)
        if let offset = wallClock.offset, jump != nil || before == nil {
            ClockRecord.write(offset, in: environment.runDirectory)
        }
        if let jump {
            environment.logger.warning("The wall clock jumped by \(jump.by.seconds) s; backoffs are moved along.")
            for shard in 0..<environment.store.shardCount { owedJumps[shard, default: []].append(jump) }
        }
        // A shard that another process keeps locked has its turn when it is free.
        for (shard, jumps) in owedJumps where !dispatch.dispatcher.locked.contains(shard) {
            owedJumps[shard] = nil
            for jump in jumps { shiftBackoffs(of: shard, by: jump) }
        }
        return jump?.by
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
