internal import Commands
internal import Host
internal import NetworkControl
internal import Store

/// Cancels the commands of destinations that have been offline for 7 days. The time of an open circuit
/// breaker does not count: such a destination can be reached. Confined to the loop.
///
/// Only the ready queue is read, by its index, in steps of at most ``batch`` commands. So the cost is that of the
/// commands that are cancelled, a command that is held back is not looked at, and a reap waits for one step.
final class UnreachableCommands {
    private let environment: CoordinatorEnvironment
    private let links: LinkMonitor
    private let effects: EffectsReceiver
    private var timer = PeriodicTimer()
    /// The destinations that are still to be read; the last is being read.
    private var scans: [UnreachableScan] = []

    private static let maxOutage: Duration = .seconds(7 * 86_400)
    private static let interval: Duration = .seconds(60)
    /// Commands that are read, or cancelled in one transaction.
    private static let batch = 200

    init(_ environment: CoordinatorEnvironment, links: LinkMonitor, effects: EffectsReceiver) {
        self.environment = environment
        self.links = links
        self.effects = effects
    }

    /// Call it in each sweep.
    func run(now: MonotonicTime) {
        guard scans.isEmpty, timer.isDue(now, every: Self.interval) else { return }
        let now = environment.store.clock.now()
        let states = links.dispatch.dispatcher.links.controller.links
        for (key, since) in links.log.offlineSince where now - since > Self.maxOutage {
            guard let destination = key.destination else { continue }
            let reported = states[key]?.circuitBreaker.reason?.text.map { ": \($0)" } ?? ""
            scans.append(
                UnreachableScan(
                    of: destination, shards: environment.store.shardCount,
                    reason: "\(destination) could not be reached for 7 days\(reported)"))
        }
        read()
    }

    /// Reads the next batch on the reader's thread.
    private func read() {
        guard let scan = scans.last else { return }
        guard let position = scan.position else {
            scans.removeLast()
            return read()
        }
        environment.store.read("Commands of an unreachable destination cannot be read") { store throws(StoreError) in
            try store.ready(at: scan.destination, position, limit: Self.batch)
        } then: { [self] commands in
            let jumps = links.dispatch.dispatcher.queue.clockJumps
            let now = jumps.steady(now: environment.store.clock.now())
            let old = commands.filter {
                now - jumps.steady($0.createdAt, shard: position.shard, turn: $0.turn) > Self.maxOutage
            }
            advance { $0.advance(behind: commands.last?.turn, hasMore: commands.count == Self.batch && !old.isEmpty) }
            if old.isEmpty { read() } else { cancel(old.map(\.id), of: scan, shard: position.shard) }
        } otherwise: { [self] _ in
            advance { $0.skipShard() }
            read()
        }
    }

    private func cancel(_ ids: [CommandID], of scan: UnreachableScan, shard: Int) {
        environment.store.write("Commands of an unreachable destination cannot be cancelled") {
            store throws(StoreError) in
            try store.cancel(ids, shard: shard, reason: scan.reason)
        } then: { [self] made in
            effects.receive(made)
            read()
        } otherwise: { [self] _ in
            advance { $0.skipShard() }
            read()
        }
    }

    private func advance(_ body: (inout UnreachableScan) -> Void) {
        if let last = scans.indices.last { body(&scans[last]) }
    }
}

extension CommandStore {
    /// Ready commands of a destination and quality of service, with and without a rate limit.
    fileprivate func ready(
        at destination: Destination, _ position: UnreachableScan.Position, limit: Int
    ) throws(StoreError) -> [ReadyCommand] {
        let limited = try limitedKeys(shard: position.shard).filter {
            $0.destination == destination && $0.qos == position.qos
        }
        var found: [ReadyCommand] = []
        for key in [ReadyKey(destination: destination, qos: position.qos)] + limited {
            found += try ready(shard: position.shard, key: key, afterTurn: position.turn, limit: limit)
        }
        return limited.isEmpty ? found : Array(found.sorted { $0.turn < $1.turn }.prefix(limit))
    }
}

/// The way through the ready commands of one destination: shard by shard, and in each by quality of service and
/// turn. Pure.
struct UnreachableScan: Sendable {
    struct Position: Sendable, Equatable {
        var shard: Int
        var qos: QualityOfService
        /// Excluded.
        var turn: Int64
    }

    let destination: Destination
    /// Why the commands are cancelled, in a sentence.
    let reason: String
    private let shards: Int
    private var shard = 0
    private var qos = 0
    private var turn: Int64 = 0

    init(of destination: Destination, shards: Int, reason: String) {
        self.destination = destination
        self.shards = shards
        self.reason = reason
    }

    /// Where to read next; nil at the end.
    var position: Position? {
        shard < shards ? Position(shard: shard, qos: QualityOfService.allCases[qos], turn: turn) : nil
    }

    /// - Parameters:
    ///   - turn: of the last command that was read.
    ///   - hasMore: commands of the same shard and quality of service may follow that have to be read.
    mutating func advance(behind turn: Int64?, hasMore: Bool) {
        if hasMore, let turn {
            self.turn = turn
            return
        }
        self.turn = 0
        qos += 1
        if qos == QualityOfService.allCases.count { skipShard() }
    }

    mutating func skipShard() {
        turn = 0
        qos = 0
        shard += 1
    }
}
