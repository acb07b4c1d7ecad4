package import Commands
package import Console
package import NetworkControl
package import Store

/// Finds what holds queues of waiting commands back. Pure.
package struct WaitCauses {
    /// Of the uplinks and the destinations.
    package var links: [LinkReport] = []
    package var pauses: [Pause] = []
    package var limits: [String: RateLimit] = [:]
    package var workers: [WorkerReading] = []
    package var hasCoordinator = true
    /// The coordinator, where it makes no progress.
    package var stalledCoordinator: StalledProcess?

    package init() {}

    /// - Returns: first those that time alone does not end, then those of most commands.
    package func causes(of queues: [WaitingQueue.Name: WaitingQueue], now: Timestamp) -> [WaitCause] {
        queues.map { cause($0.key, $0.value, now) }.sorted { left, right in
            if left.isStopped != right.isStopped { return left.isStopped }
            if left.count != right.count { return left.count > right.count }
            return left.since < right.since
        }
    }

    private typealias Reason = (kind: WaitCause.Kind, text: String)

    private func cause(_ name: WaitingQueue.Name, _ queue: WaitingQueue, _ now: Timestamp) -> WaitCause {
        let subject: WaitCause.Subject
        let reason: Reason
        switch name {
        case .destination(let destination):
            (subject, reason) = (.destination(destination), self.reason(destination, queue))
        case .limit(let limit): (subject, reason) = (.limit(limit), self.reason(limit))
        case .notBefore:
            let due = queue.due.map { $0 > now ? "in \(($0 - now).shortText)" : "now" } ?? "later"
            subject = .notBefore
            reason = (.turn, "a retry after a failure, or a time that was chosen; the next is due \(due)")
        }
        return WaitCause(
            subject: subject, count: queue.count, isComplete: queue.isComplete, text: reason.text, since: queue.since,
            kind: reason.kind)
    }

    private func reason(_ destination: Destination, _ queue: WaitingQueue) -> Reason {
        let link = links.first { $0.destination == destination.text && $0.direction == .up }
        if link?.isForced == true { return (.person, "held offline by a person") }
        if let pause = pause(destination, queue) { return (.person, pause) }
        if let breaker = link?.circuitBreaker { return (.link, breaker.reason) }
        if let link, link.level == .offline { return (.link, link.reason.map { LinkText.clause($0) } ?? "is offline") }
        if let missingProcess { return (.process, missingProcess) }
        if let wait = link?.gates[queue.qos], !wait.isThrottle { return (.turn, LinkText.clause(wait, of: queue.qos)) }
        if let release = queue.release { return (.failing, release.reason) }
        if let wait = link?.waits[queue.qos], let text = AdmissionText(wait, of: destination, qos: queue.qos) {
            return (.turn, "\(text.measured); the next starts at \(text.threshold)")
        }
        return (.turn, turn)
    }

    private func reason(_ name: String) -> Reason {
        guard let limit = limits[name] else { return (.failing, "does not exist; make it again") }
        if let missingProcess { return (.process, missingProcess) }
        return (.turn, "starts \(limit.starts)" + (limit.atOnce.map { ", \($0) at once" } ?? ""))
    }

    /// A pause that covers the first command.
    private func pause(_ destination: Destination, _ queue: WaitingQueue) -> String? {
        let pause = pauses.first {
            ($0.destination == nil || $0.destination == destination) && ($0.qos == nil || $0.qos == queue.qos)
        }
        guard let pause else { return nil }
        let isOwn = pause.qos == nil && pause.destination != nil
        return "paused by a person" + (isOwn ? "" : ": \(pause.scope)")
    }

    private var missingProcess: String? {
        if !hasCoordinator { return "no coordinator runs" }
        if let stalledCoordinator {
            return "the coordinator: \(stalledCoordinator.clause); \(stalledCoordinator.remedy)"
        }
        return workers.contains { $0.state == .ready } ? nil : "no worker takes commands"
    }

    private var turn: String {
        let ready = workers.filter { $0.state == .ready }
        let slots = ready.compactMap(\.concurrency).reduce(0, +)
        let taken = ready.map(\.inFlight).reduce(0, +)
        return taken >= slots ? "all \(slots) slots are taken" : "the next ones start now"
    }
}
