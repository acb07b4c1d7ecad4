package import Commands
package import NetworkControl
package import Store
package import Wire

/// The network as the dispatcher sees it: which destinations take one more command, and what workers are to be told. Pure.
///
/// It stands between the messages and ``NetworkController``, which decides.
package struct LinkGovernors: Sendable {
    package internal(set) var controller: NetworkController
    package private(set) var decisions = NetworkDecisions()
    /// Qualities that may not begin while others of their class may: their commands are kept out of memory.
    package private(set) var heldBack: Set<ReadyKey> = []
    /// Something that workers must hear at once has been decided since ``takeUrgent()``.
    private var isUrgent = false
    private var known: Set<Destination> = []
    private var allowances: [Destination: LinkAllowance] = [:]
    /// Claims of running transfers, by which an order finds its execution and no later one.
    private var claims: [CommandID: Int] = [:]
    /// Links of which the controller was told that something waits.
    private var waitingKeys: Set<LinkKey> = []

    package var policy: NetworkPolicy { controller.policy }

    package init(policy: NetworkPolicy = NetworkPolicy(), seed: UInt64 = 0) {
        controller = NetworkController(policy: policy, seed: seed)
    }

    // MARK: Destinations

    /// The first word of a destination. Loopback is known at once; of others the kernel's routes tell.
    package mutating func meet(_ destination: Destination, now: Int64) {
        guard destination != .none, known.insert(destination).inserted else { return }
        if destination.isLoopback { controller.routeChanged(destination, to: .local, now: now) }
    }

    /// The controller has forgotten its links: it is met anew when it comes back.
    package mutating func forget(_ destination: Destination) {
        guard Direction.allCases.allSatisfy({ controller.links[LinkKey(destination, $0)] == nil }) else { return }
        known.remove(destination)
        allowances[destination] = nil
        controller.forget(destination)
    }

    /// Destinations that have a link.
    package var destinations: Set<Destination> { Set(controller.links.keys.compactMap(\.destination)) }

    package mutating func routed(_ destination: Destination, _ route: Route, now: Int64) {
        controller.routeChanged(destination, to: route, now: now)
        allowances[destination] = nil
    }

    // MARK: Dispatch

    /// Whether one more command of a class may go to a destination.
    /// - Parameters:
    ///   - middle: commands of middle quality in hand there.
    ///   - low: the same of low quality.
    ///   - comesBack: it had a place there, and its connection broke.
    ///   - asProbe: it is to be the probe of the destination's circuit breaker.
    package func admits(
        _ serviceClass: ServiceClass, to destination: Destination, middle: Int, low: Int,
        comesBack: LinkAllowance.Return? = nil, asProbe: Bool = false, now: Int64
    ) -> Bool {
        guard destination != .none else { return true }
        let key = LinkKey(destination, .up)
        let isProbe = controller.level(of: key) == .offline
        // What was decided while it was offline says nothing of the moment in which it is back.
        let allowance =
            allowances[destination].flatMap { $0.level == .offline ? nil : $0 } ?? controller.firstAllowance(of: key)
        return serviceClass.qualities.contains { qos in
            (isProbe || allowance.admits(qos, others: middle + low, low: low, comesBack: comesBack))
                && controller.admits(qos, to: key, asProbe: asProbe, now: now)
        }
    }

    /// Whether the gates alone, without regard to places, let a command go.
    /// - Parameter asProbe: it is to be the probe of its destination's circuit breaker.
    package func isOpen(_ command: ReadyCommand, asProbe: Bool = false, now: Int64) -> Bool {
        command.destination == .none
            || controller.admits(command.qos, to: LinkKey(command.destination, .up), asProbe: asProbe, now: now)
    }

    /// It goes out. High quality makes others give way before its first byte, unless it is soon through beside them.
    package mutating func offered(_ command: ReadyCommand, now: Int64) {
        guard command.destination != .none else { return }
        let key = LinkKey(command.destination, .up)
        controller.offered(command.id, to: key, now: now)
        guard
            let decisions = controller.arrived(
                command.id, to: key, qos: command.qos, bytes: command.remaining, now: now)
        else { return }
        adopt(decisions)
        isUrgent = true
    }

    /// It was offered and nobody took it.
    package mutating func withdrawn(_ id: CommandID, from destination: Destination, now: Int64) {
        guard destination != .none else { return }
        controller.ended(id, to: LinkKey(destination, .up), outcome: .withdrawn, now: now)
    }

    package var nextProbe: Int64? { controller.nextProbe }

    // MARK: What happens

    /// An execution ended.
    package mutating func ended(_ report: StatusReport, now: Int64) {
        let event = report.event
        guard event.destination != .none else { return }
        let reason = event.transition.reason ?? ""
        let outcome: TransferOutcome
        switch (event.transition.status, report.fault) {
        case _ where report.isPushback: outcome = .pushedBack(reason: reason)
        case (_, .credential): outcome = .refused(.credential, reason: reason, isAnswer: report.isAnswer)
        case (_, .destination): outcome = .refused(.destination, reason: reason, isAnswer: report.isAnswer)
        case _ where report.hasBroken: outcome = .unreachable(reason: reason)
        // Such as 423, a lock, and a refusal that no retry would mend.
        case (_, .link): outcome = .answered
        case (_, .final) where report.isAnswer: outcome = .answered
        case (.success, nil): outcome = .answered
        case (_, .command), (_, .reset), (_, .final): outcome = .undecided
        default: outcome = .withdrawn
        }
        if claims[event.transition.id] == event.transition.claim { claims[event.transition.id] = nil }
        controller.ended(event.transition.id, to: LinkKey(event.destination, .up), outcome: outcome, now: now)
        switch event.transition.status {
        case .success, .cancelled, .tooManyTimes: controller.finished(event.transition.id)
        case .new, .queued, .sent, .error, .blocked, .inDoubt: break
        }
    }

    /// A worker's transfers, which replace its last.
    package mutating func report(_ transfers: Transfers, worker: Int64, now: Int64) {
        var samples: [TransferSample] = []
        samples.reserveCapacity(transfers.transfers.count)
        for transfer in transfers.transfers {
            let link = transfers.links[transfer.link]
            guard link.destination != .none else { continue }
            meet(link.destination, now: now)
            if let known = claims[transfer.id], known != transfer.claim {
                // Late word of an execution that is over; or the first of one that no order meant.
                if transfer.claim < known { continue }
                controller.replaced(transfer.id)
                decisions.orders.removeAll { $0.id == transfer.id }
            }
            claims[transfer.id] = transfer.claim
            samples.append(TransferSample(transfer, link))
        }
        var counters: [LinkCounter] = []
        for link in transfers.links where link.destination != .none {
            for serviceClass in ServiceClass.allCases {
                counters.append(
                    LinkCounter(
                        destination: link.destination, direction: link.direction, serviceClass: serviceClass,
                        bytes: link.bytes[serviceClass.rawValue]))
            }
        }
        controller.report(worker: worker, transfers: samples, counters: counters, now: now)
    }

    package mutating func workerLost(_ epoch: Int64) { controller.workerLost(epoch) }

    package mutating func override(_ destination: Destination, _ value: LinkOverride, now: Int64) {
        meet(destination, now: now)
        controller.override(destination, value, now: now)
    }

    package mutating func uplinkLost(_ name: String, reason: String, now: Int64) {
        controller.uplinkLost(name, reason: reason, now: now)
    }

    package mutating func uplinkReplaced(_ name: String, now: Int64) { controller.uplinkReplaced(name, now: now) }

    package mutating func uplinkFound(_ name: String, now: Int64) { controller.uplinkFound(name, now: now) }

    package mutating func restore(_ memory: LinkMemory, of key: LinkKey, now: Int64) {
        if let destination = key.destination { meet(destination, now: now) }
        controller.restore(memory, of: key, now: now)
    }

    // MARK: Time

    /// Decides anew. Call it 4 times a second.
    /// - Parameter waiting: ready commands in memory by destination and quality.
    package mutating func tick(waiting: [Destination: [QualityOfService: Int]], minuteOfDay: Int, now: Int64) {
        controller.minuteOfDay = minuteOfDay
        var keys: Set<LinkKey> = []
        for (destination, counts) in waiting where destination != .none {
            let key = LinkKey(destination, .up)
            keys.insert(key)
            controller.setWaiting(counts, for: key, now: now)
        }
        for key in waitingKeys.subtracting(keys) { controller.setWaiting([:], for: key, now: now) }
        waitingKeys = keys
        adopt(controller.tick(now: now))
        claims = claims.filter { controller.isRunning($0.key) }
    }

    private mutating func adopt(_ new: NetworkDecisions) {
        let changed = decisions.changed
        decisions = new
        decisions.changed = changed + new.changed
        allowances = [:]
        // Hours hold whatever is known of the link: also before its first command, and for its probes.
        heldBack = Set(
            policy.destinations.keys.filter { controller.isOutOfHours(LinkKey($0, .up)) }
                .map { ReadyKey(destination: $0, qos: .background) })
        for (key, allowance) in new.allowances where key.direction == .up {
            guard let destination = key.destination else { continue }
            allowances[destination] = allowance
            guard allowance.level != .offline, !allowance.closed.isEmpty else { continue }
            for qos in allowance.closed where !allowance.closed.isSuperset(of: qos.serviceClass.qualities) {
                heldBack.insert(ReadyKey(destination: destination, qos: qos))
            }
        }
    }

    /// Links whose level is another than at the last call.
    package mutating func takeChanged() -> [LinkKey] {
        defer { decisions.changed = [] }
        return decisions.changed
    }

    /// Whether something was decided that cannot wait for the next tick.
    package mutating func takeUrgent() -> Bool {
        defer { isUrgent = false }
        return isUrgent
    }

    // MARK: For workers

    package var paces: [ControlState.Pace] {
        decisions.pacing.compactMap { pacing in
            guard let destination = pacing.key.destination else { return nil }
            return ControlState.Pace(
                group: Offers.group(of: destination), direction: pacing.key.direction, qos: pacing.qos,
                bytesPerSecond: pacing.bytesPerSecond)
        }
    }

    package var orders: [ControlState.Order] {
        decisions.orders.compactMap { order in
            guard let claim = claims[order.id] else { return nil }
            return ControlState.Order(
                order.verb == .cut ? .cut : .cancel, Hello.Held(id: order.id, claim: claim), reason: order.reason)
        }
    }
}

extension TransferSample {
    fileprivate init(_ transfer: Transfers.Transfer, _ link: Transfers.Link) {
        self.init(id: transfer.id, destination: link.destination, direction: link.direction, qos: transfer.qos)
        switch transfer.pacing {
        case .free: state = .running
        case .throttled: state = .throttled
        case .paused: state = .paused
        }
        acknowledged = transfer.acknowledged
        retransmitted = transfer.retransmitted
        remaining = transfer.total > 0 ? max(transfer.total - transfer.offset, 0) : nil
        srtt = transfer.roundTrip > 0 ? transfer.roundTrip * 1000 : nil
        minRTT = transfer.leastRoundTrip > 0 ? transfer.leastRoundTrip * 1000 : nil
        timeToFirstByte = transfer.firstByte > 0 ? transfer.firstByte * 1000 : nil
        isResumable = transfer.isResumable
        isIdempotent = transfer.isIdempotent
    }
}

extension StatusReport {
    /// No answer, but the end of the connection, or none at all.
    var hasBroken: Bool { fault == .link && !isAnswer && !isPushback }

    /// It goes on from where it is; so does one whose server still holds the connection before, and answers 423. Who was
    /// told that there are too many comes back as one of those who wait.
    var keepsPlace: Bool { (fault == .link || fault == .command) && !isPushback }
}

extension Destination {
    /// Its packets never leave this host.
    package var isLoopback: Bool {
        guard let host = text.firstRange(of: "://").map({ text[$0.upperBound...] }) else { return false }
        let name = host.prefix { $0 != ":" }
        return name == "localhost" || host.hasPrefix("[::1]:")
            || name.hasPrefix("127.") && name.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (48...57).contains($0) }
    }
}
