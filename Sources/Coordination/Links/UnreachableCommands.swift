internal import Commands
internal import Host
internal import NetworkControl
internal import Store

/// Cancels the commands of destinations that have been offline for 7 days. The time of an open circuit
/// breaker does not count: such a destination can be reached. Confined to the loop.
final class UnreachableCommands {
    private let environment: CoordinatorEnvironment
    private let links: LinkMonitor
    private let events: EventPublisher
    private var isRunning = false
    private var timer = PeriodicTimer()

    private static let maxOutage: Duration = .seconds(7 * 86_400)
    /// Listing reads whole shards, so it is done once a minute.
    private static let interval: Duration = .seconds(60)
    /// Commands of one status that are read at a time.
    private static let batch = 1000

    init(_ environment: CoordinatorEnvironment, links: LinkMonitor, events: EventPublisher) {
        self.environment = environment
        self.links = links
        self.events = events
    }

    /// Call it in each sweep.
    func run(now: MonotonicTime) {
        guard !isRunning, timer.isDue(now, every: Self.interval) else { return }
        let now = Timestamp.now
        let states = links.dispatch.dispatcher.links.controller.links
        for (key, since) in links.log.offlineSince where now - since > Self.maxOutage {
            guard let destination = key.destination else { continue }
            let reported = states[key]?.circuitBreaker.reason?.text.map { ": \($0)" } ?? ""
            isRunning = true
            cancelCommands(to: destination, "\(destination) could not be reached for 7 days\(reported)", now: now)
        }
    }

    private func cancelCommands(to destination: Destination, _ reason: String, now: Timestamp) {
        environment.store.write("Commands of an unreachable destination cannot be cancelled") {
            store throws(StoreError) -> [StatusEvent] in
            var events: [StatusEvent] = []
            for status in [CommandStatus.new, .error] {
                let filter = CommandFilter(status: status, destination: destination)
                for command in try store.list(filter, after: nil, limit: Self.batch)
                where now - command.createdAt > Self.maxOutage && command.notBefore <= now {
                    // One that waits for its time, as for a paused endpoint, does not wait for the destination.
                    if case .cancelled(let event) = try store.cancel(command.id, reason: reason, now: now) {
                        events.append(event)
                    }
                }
            }
            return events
        } then: { [self] cancelled in
            isRunning = false
            for event in cancelled { events.publish(event, now: .now) }
        } otherwise: { [self] _ in
            isRunning = false
        }
    }
}
