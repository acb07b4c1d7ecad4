internal import Commands
internal import Host
internal import Logging
internal import NetworkControl
internal import Store

/// Logs the circuit breakers of destinations and counts the commands that wait at them. Confined to the loop.
final class CircuitBreakerMonitor {
    /// Called where the state of a destination's circuit breaker or its count has changed.
    var whenChanged: (Destination, _ now: MonotonicTime) -> Void = { _, _ in }

    private let environment: CoordinatorEnvironment
    private let dispatch: DispatchRunner
    private var counts = WaitingCounts()

    private var circuitBreakers: [Destination: DestinationCircuitBreaker] {
        dispatch.dispatcher.links.controller.circuitBreakers
    }

    init(_ environment: CoordinatorEnvironment, dispatch: DispatchRunner) {
        self.environment = environment
        self.dispatch = dispatch
    }

    /// Commands that wait at the circuit breaker of a destination, as counted last.
    func waiting(at destination: Destination) -> Int { counts[destination] }

    /// Logs the circuit breakers that opened or closed since the last call, and first refusals; counts at those that
    /// opened.
    func run(now: MonotonicTime) {
        let changed = dispatch.dispatcher.links.takeChangedCircuitBreakers()
        guard !changed.isEmpty else { return }
        let circuitBreakers = circuitBreakers
        var opened: [Destination] = []
        for destination in changed.sorted(by: { $0.text < $1.text }) {
            if let outage = circuitBreakers[destination]?.outage {
                opened.append(destination)
                environment.logger.warning(
                    "The circuit breaker of a destination is open.",
                    metadata: [
                        "destination": "\(destination)", "cause": "\(outage.cause.rawValue)",
                        "reason": "\(outage.reason)",
                    ])
            } else if let refusal = circuitBreakers[destination]?.refusal {
                environment.logger.warning(
                    "A destination refuses a command for a reason that may hold for all.",
                    metadata: ["destination": "\(destination)", "reason": "\(refusal)"])
            } else {
                counts.remove(destination)
                environment.logger.notice(
                    "The circuit breaker of a destination is closed.", metadata: ["destination": "\(destination)"])
            }
            whenChanged(destination, now)
        }
        count(at: opened)
    }

    /// Counts again at circuit breakers that are not closed; call it in each sweep.
    func count() { count(at: counts.nextRound(of: Set(circuitBreakers.filter { !$0.value.isClosed }.keys))) }

    /// Counts the ready commands by their index, and adds the ones that failed there and wait for their
    /// `notBefore`.
    private func count(at destinations: [Destination]) {
        guard !destinations.isEmpty else { return }
        let failed = destinations.map { circuitBreakers[$0]?.failed ?? [] }
        environment.store.read("Commands that wait at a circuit breaker cannot be counted") {
            store throws(StoreError) in
            // Not all ready keys: with 20,000 destinations, these are 40,000 reads in each sweep.
            let keys = try store.mapShards(or: []) { (shard: Int) throws(StoreError) -> Set<ReadyKey> in
                let limited = try store.limitedKeys(shard: shard)
                return destinations.reduce(into: Set<ReadyKey>()) { keys, destination in
                    for qos in QualityOfService.allCases { keys.insert(ReadyKey(destination: destination, qos: qos)) }
                    keys.formUnion(limited.filter { $0.destination == destination })
                }
            }
            return try zip(destinations, failed).map { destination, failed throws(StoreError) in
                try store.waiting(
                    at: destination, keys, failed: failed, limit: CircuitBreakerState<MonotonicTime>.maxWaitingCounted)
            }
        } then: { [self] found in
            for (destination, count) in zip(destinations, found)
            where circuitBreakers[destination]?.isClosed == false && counts.set(count, of: destination) {
                whenChanged(destination, MonotonicTime.now)
            }
        }
    }
}

extension CommandStore {
    /// - Parameters:
    ///   - keys: of each shard, the queues of the destinations that may have ready commands.
    ///   - failed: commands that may not be ready yet.
    ///   - limit: counts no further.
    fileprivate func waiting(
        at destination: Destination, _ keys: [Set<ReadyKey>], failed: [CommandID], limit: Int
    ) throws(StoreError) -> Int {
        var waiting: Set<CommandID> = []
        for (shard, keys) in keys.enumerated() {
            for key in keys where key.destination == destination && waiting.count < limit {
                let found = try ready(shard: shard, key: key, afterTurn: 0, limit: limit - waiting.count)
                waiting.formUnion(found.map(\.id))
            }
        }
        for id in failed where waiting.count < limit && !waiting.contains(id) {
            guard let command = try ifUsable({ () throws(StoreError) in try command(id) }) ?? nil else { continue }
            if command.status == .new || command.status == .error { waiting.insert(id) }
        }
        return waiting.count
    }
}

/// How many commands wait at each circuit breaker that is not closed, as counted last. Counting costs reads
/// of the store, so each round counts a few destinations, the one counted longest ago first. Pure.
struct WaitingCounts {
    private var counts: [Destination: Int] = [:]
    /// The next to be counted first.
    private var order: [Destination] = []

    /// Destinations of one round, so that an uplink whose portal affects all of them costs no more.
    static let maxPerRound = 64

    subscript(destination: Destination) -> Int { counts[destination] ?? 0 }

    mutating func remove(_ destination: Destination) { counts[destination] = nil }

    /// - Returns: whether the count has changed.
    mutating func set(_ count: Int, of destination: Destination) -> Bool {
        counts.updateValue(count, forKey: destination) != count
    }

    /// Begins a round.
    /// - Parameter current: all destinations whose circuit breaker is not closed; the others are dropped.
    /// - Returns: the destinations to be counted.
    mutating func nextRound(of current: Set<Destination>) -> [Destination] {
        counts = counts.filter { current.contains($0.key) }
        let kept = order.filter { current.contains($0) }
        order = current.subtracting(kept) + kept
        let next = Array(order.prefix(Self.maxPerRound))
        order = Array(order.dropFirst(next.count)) + next
        return next
    }
}
