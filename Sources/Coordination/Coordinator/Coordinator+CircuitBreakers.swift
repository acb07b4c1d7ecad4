internal import CLinux
internal import Commands
internal import Logging
internal import NetworkControl
internal import Store

/// Logs, events and counts of the circuit breakers of destinations.
extension Coordinator {
    /// Commands counted at one circuit breaker at most.
    static let maxWaitingCounted = 1000
    /// Destinations counted in one sweep at most, so that an uplink whose portal closes all of them costs no more.
    private static let maxDestinationsCounted = 64

    /// Logs and publishes the circuit breakers that opened or closed.
    func followCircuitBreakers(now: Int64) {
        let changed = dispatcher.links.takeChangedCircuitBreakers()
        guard !changed.isEmpty else { return }
        let controller = dispatcher.links.controller
        var opened: [Destination] = []
        for destination in changed.sorted(by: { $0.text < $1.text }) {
            if let outage = controller.circuitBreakers[destination]?.outage {
                opened.append(destination)
                logger.warning(
                    "The circuit breaker of a destination is open: \(outage.reason)",
                    metadata: ["destination": "\(destination)", "cause": "\(outage.cause.rawValue)"])
            } else {
                waitingCounts[destination] = nil
                logger.notice(
                    "The circuit breaker of a destination is closed.", metadata: ["destination": "\(destination)"])
            }
            publishCircuitBreaker(of: destination, now: now)
        }
        countWaiting(at: opened)
    }

    private func publishCircuitBreaker(of destination: Destination, now: Int64) {
        let controller = dispatcher.links.controller
        guard hub.wantsLinks, let state = linkState(LinkKey(destination, .up), controller, now: now) else { return }
        hub.link(report(of: state, controller, now: now), at: .now)
    }

    /// Counts again the commands that wait at the circuit breakers that are not closed, the oldest counts first.
    func countWaiting() {
        let open = dispatcher.links.controller.circuitBreakers.filter { !$0.value.isClosed }.keys
        waitingCounts = waitingCounts.filter { open.contains($0.key) }
        countedDestinations.removeAll { !open.contains($0) }
        countedDestinations = open.filter { !countedDestinations.contains($0) } + countedDestinations
        let next = Array(countedDestinations.prefix(Self.maxDestinationsCounted))
        countedDestinations = Array(countedDestinations.dropFirst(next.count)) + next
        countWaiting(at: next)
    }

    /// Counts the ready commands by their index, and adds the ones that failed there and wait for their `notBefore`.
    private func countWaiting(at destinations: [Destination]) {
        guard !destinations.isEmpty else { return }
        let failed = destinations.map { dispatcher.links.controller.circuitBreakers[$0]?.failed ?? [] }
        read { store throws(StoreError) in
            let keys = try store.mapShards(or: []) { shard throws(StoreError) in try store.readyKeys(shard: shard) }
            return try zip(destinations, failed).map { destination, failed throws(StoreError) in
                try store.waiting(at: destination, keys, failed: failed, limit: Self.maxWaitingCounted)
            }
        } then: { coordinator, result in
            switch result {
            case .success(let counts):
                for (destination, count) in zip(destinations, counts)
                where coordinator.dispatcher.links.controller.circuitBreakers[destination]?.isClosed == false {
                    guard coordinator.waitingCounts.updateValue(count, forKey: destination) != count else { continue }
                    coordinator.publishCircuitBreaker(of: destination, now: Int64(clinux_monotonic()))
                }
            case .failure(let error):
                coordinator.report(error, "Commands that wait at a circuit breaker cannot be counted")
            }
        }
    }
}

extension CommandStore {
    /// - Parameters:
    ///   - keys: of each shard, what is ready there.
    ///   - failed: commands that may not be ready yet.
    ///   - limit: counts no further.
    fileprivate func waiting(
        at destination: Destination, _ keys: [Set<ReadyKey>], failed: [CommandID], limit: Int
    ) throws(StoreError) -> Int {
        var waiting: Set<CommandID> = []
        for (shard, keys) in keys.enumerated() {
            for key in keys where key.destination == destination && waiting.count < limit {
                let found = try ready(
                    shard: shard, destination: destination, qos: key.qos, afterTurn: 0, limit: limit - waiting.count)
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
