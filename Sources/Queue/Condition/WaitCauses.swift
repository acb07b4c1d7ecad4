package import Commands
package import Console
internal import Host
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

extension QueueAccess {
    /// The destinations that have ready commands, also those that no coordinator has seen yet. The cost grows with their
    /// number.
    func readyDestinations() throws(StoreError) -> Set<Destination> {
        let shards = try store.mapShards(or: []) { shard throws(StoreError) in
            try store.readyKeys(shard: shard).map(\.destination)
        }
        return Set(shards.joined())
    }

    /// The causes for which commands wait. The cost depends on the number of links, not on that of commands.
    /// - Parameters:
    ///   - links: those whose commands are counted.
    ///   - others: further destinations whose commands are counted.
    ///   - workers: as they were read.
    package func waitCauses(
        links: [LinkReport], others: Set<Destination> = [], workers: [WorkerReading], now: Timestamp
    ) throws(StoreError) -> [WaitCause] {
        var causes = WaitCauses()
        causes.links = links
        causes.workers = workers
        causes.pauses = try pauses()
        causes.hasCoordinator = coordinator != nil
        causes.stalledCoordinator = stalledCoordinator
        causes.limits = RateLimit.parse(try store.settingsIfUsable(prefix: SettingKey.limitPrefix))
        let destinations =
            [.none] + Array(others.union(links.compactMap { Destination($0.destination) }).subtracting([.none]))
        var queues: [WaitingQueue.Name: WaitingQueue] = [:]
        let shards = try store.mapShards(or: [:]) { shard throws(StoreError) in
            try store.waitingQueues(of: destinations, shard: shard)
        }
        for shard in shards {
            queues.merge(shard) { sum, queue in
                var sum = sum
                sum.add(queue)
                return sum
            }
        }
        return causes.causes(of: queues, now: now)
    }
}

/// Waiting commands with one cause.
package struct WaitCause: Sendable, Equatable {
    package enum Subject: Hashable, Sendable {
        /// ``Destination/none`` for operations that talk to no other machine.
        case destination(Destination)
        case limit(String)
        case notBefore
    }

    package var subject: Subject
    package var count: Int
    /// Whether `count` has all of them.
    package var isComplete: Bool
    /// A clause without the name of the subject: `refuses connections; is it running?`
    package var text: String
    /// When the first of them was submitted.
    package var since: Timestamp
    package var kind: Kind

    package enum Kind: String, Sendable {
        /// A person has paused the commands, or holds their destination offline.
        case person
        /// The link is offline, or the circuit breaker of the destination is open.
        case link
        /// The last attempt has failed, and its link has not changed its level yet; or the rate limit is missing.
        case failing
        /// No coordinator runs or makes progress, or no worker.
        case process
        /// The commands start when those before them have.
        case turn
    }

    /// Whether time alone does not end the wait.
    package var isStopped: Bool { kind != .turn }
}

extension WaitCause {
    /// `12`, or `1,000+` where there are more than were counted.
    package var countText: String { Figures.grouped(Int64(count)) + (isComplete ? "" : "+") }

    /// `12 commands wait`
    package var waitText: String { "\(countText) command\(count == 1 && isComplete ? " waits" : "s wait")" }

    package var name: String {
        switch subject {
        case .destination(.none): "Commands without a destination"
        case .destination(let destination): DestinationText.name(destination)
        case .limit(let name): "Limit “\(name)”"
        case .notBefore: "Not due yet"
        }
    }

    /// The name and the cause. Many causes begin with the name.
    package var sentence: String {
        if case .limit = subject, kind == .turn || kind == .failing { return "\(name) \(text)" }
        guard case .destination(let destination) = subject else { return "\(name): \(text)" }
        return DestinationText.sentence(text, of: destination)
    }

    /// The number, the cause and the age of the oldest: for lines of text.
    package func line(now: Timestamp) -> String {
        "\(waitText), the oldest for \(max(now - since, .zero).shortText). \(sentence)"
    }

    package var json: JSONValue {
        let members: [JSONValue.Member] =
            switch subject {
            case .destination(let destination):
                [.init("destination", destination == .none ? .null : .string(destination.text))]
            case .limit(let name): [.init("limit", .string(name))]
            case .notBefore: []
            }
        return .object(
            [
                .init("count", .integer(Int64(count))), .init("complete", .bool(isComplete)),
                .init("cause", .string(kind.rawValue)), .init("reason", .string(sentence)),
                .init("oldest", .string(since.description)),
            ] + members)
    }
}
