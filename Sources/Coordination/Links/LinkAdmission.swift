package import Commands
internal import Host
package import NetworkControl
internal import Store
package import Wire

/// The network as the dispatcher sees it: which destinations take one more command, and what workers are to be told. Pure.
///
/// It stands between the messages and ``NetworkController``, which decides.
package struct LinkAdmission: Sendable {
    package internal(set) var controller: NetworkController
    package private(set) var decisions = NetworkDecisions()
    /// Something that workers must hear at once has been decided since ``takeUrgent()``.
    private var isUrgent = false
    private var known: Set<Destination> = []
    /// Destinations that were met since ``takeMet()``.
    private var met: Set<Destination> = []
    private var allowances: [Destination: LinkAllowance] = [:]
    /// Destinations whose allowance is another than at the last ``takeReleased()``, or that have answered since.
    private var released: Set<Destination> = []
    /// The open hours changed at the last tick.
    private var outOfHours: Set<Destination> = []
    /// Claims of running transfers, by which an order finds its execution and no later one.
    private var claims: [CommandID: Int] = [:]

    package var policy: NetworkPolicy { controller.policy }

    package init(policy: NetworkPolicy = NetworkPolicy(), seed: UInt64 = 0) {
        controller = NetworkController(policy: policy, seed: seed)
    }

    // MARK: Destinations

    /// The first word of a destination. Loopback is known at once; of others the kernel's routes tell.
    package mutating func meet(_ destination: Destination, now: Int64) {
        guard destination != .none, known.insert(destination).inserted else { return }
        met.insert(destination)
        if destination.isLoopback {
            controller.routeChanged(destination, to: .local, now: MonotonicTime(nanoseconds: now))
        }
    }

    /// The controller has forgotten its links: it is met anew when it comes back.
    /// - Returns: false where a link of the other direction is still known.
    package mutating func forget(_ destination: Destination) -> Bool {
        guard Direction.allCases.allSatisfy({ controller.links[LinkKey(destination, $0)] == nil }) else { return false }
        known.remove(destination)
        allowances[destination] = nil
        controller.forget(destination)
        return true
    }

    /// Destinations that were met since the last call.
    package mutating func takeMet() -> Set<Destination> {
        defer { met = [] }
        return met
    }

    /// Destinations that have a link.
    package var destinations: Set<Destination> { Set(controller.links.keys.compactMap(\.destination)) }

    package mutating func routed(_ destination: Destination, _ route: Route, now: Int64) {
        controller.routeChanged(destination, to: route, now: MonotonicTime(nanoseconds: now))
        allowances[destination] = nil
        released.insert(destination)
    }

    // MARK: Dispatch

    /// What bounds commands to a destination. It must have one.
    func load(_ destination: Destination, _ qos: QualityOfService, now: Int64) -> Admission.Load {
        let key = LinkKey(destination, .up)
        var load = Admission.Load()
        load.passage = controller.availability(of: qos, to: key, now: MonotonicTime(nanoseconds: now))
        // What was decided while it was offline says nothing of the moment in which it is back.
        load.allowance =
            allowances[destination].flatMap { $0.level == .offline ? nil : $0 } ?? controller.firstAllowance(of: key)
        controller.fill(&load.allowance, of: key, now: MonotonicTime(nanoseconds: now))
        load.isProven = controller.isProven(key)
        load.isFailing = controller.isFailing(key) || load.passage == .probe
        return load
    }

    /// When the next probe may go to a destination; nil where none is needed, or one is under way.
    package func nextProbe(of destination: Destination) -> Int64? {
        destination == .none ? nil : controller.nextProbe(of: LinkKey(destination, .up))?.nanoseconds
    }

    /// The circuit breaker of the destination lets a probe out now.
    func isProbeDue(at destination: Destination, now: Int64) -> Bool {
        controller.circuitBreakers[destination]?.isProbeDue(now: MonotonicTime(nanoseconds: now)) ?? false
    }

    /// Every link behind the same uplink, for what they hold together.
    func uplink(of destination: Destination) -> LinkKey? { controller.uplink(of: LinkKey(destination, .up)) }

    /// It goes out. High quality makes others give way before its first byte, unless it is soon through beside them.
    package mutating func offered(_ command: ReadyCommand, now: Int64) {
        guard command.destination != .none else { return }
        let key = LinkKey(command.destination, .up)
        controller.offered(command.id, to: key, now: MonotonicTime(nanoseconds: now))
        guard
            let decisions = controller.announce(
                command.id, to: key, qos: command.qos, bytes: command.remaining, now: MonotonicTime(nanoseconds: now))
        else { return }
        adopt(decisions)
        isUrgent = true
    }

    /// It was offered and nobody took it.
    package mutating func withdrawn(_ id: CommandID, from destination: Destination, now: Int64) {
        guard destination != .none else { return }
        controller.ended(id, to: LinkKey(destination, .up), outcome: .withdrawn, now: MonotonicTime(nanoseconds: now))
    }

    /// Cuts transfers of low QoS whose slots a higher class needs.
    mutating func preempt(_ ids: [CommandID], reason: String, now: Int64) {
        guard let decisions = controller.preempt(ids, reason: reason, now: MonotonicTime(nanoseconds: now)) else {
            return
        }
        adopt(decisions)
        isUrgent = true
    }

    // MARK: What happens

    /// An execution ended.
    package mutating func ended(_ report: StatusReport, now: Int64) {
        let event = report.event
        guard event.destination != .none else { return }
        let reason = event.transition.reason ?? ""
        let outcome: TransferOutcome
        switch (event.transition.status, report.fault) {
        case _ where report.isPushback:
            outcome = .pushedBack(reason: reason, othersAreAnswered: report.fault == .command)
        case (_, .credential): outcome = .refused(.credential, reason: reason, isAnswer: report.isAnswer)
        case (_, .destination): outcome = .refused(.destination, reason: reason, isAnswer: report.isAnswer)
        case _ where report.failedForLink: outcome = .unreachable(reason: reason)
        // Such as 423, a lock, and a refusal that no retry would mend.
        case (_, .link): outcome = .answered
        case (_, .final) where report.isAnswer: outcome = .answered
        case (.success, nil): outcome = .answered
        case (_, .command), (_, .reset), (_, .final): outcome = .undecided
        default: outcome = .withdrawn
        }
        if claims[event.transition.id] == event.transition.claim { claims[event.transition.id] = nil }
        controller.ended(
            event.transition.id, to: LinkKey(event.destination, .up), outcome: outcome,
            now: MonotonicTime(nanoseconds: now))
        switch event.transition.status {
        case .success, .cancelled, .tooManyTimes: controller.finished(event.transition.id)
        case .new, .queued, .sent, .error, .blocked, .inDoubt: break
        }
    }

    /// A worker's transfers, which replace its last.
    package mutating func report(_ transfers: Transfers, worker: Int64, now: Int64) {
        for link in transfers.links { meet(link.destination, now: now) }
        var samples: [TransferSample] = []
        samples.reserveCapacity(transfers.transfers.count)
        for transfer in transfers.transfers {
            let link = transfers.links[transfer.link]
            guard link.destination != .none else { continue }
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
        controller.report(worker: worker, transfers: samples, counters: counters, now: MonotonicTime(nanoseconds: now))
    }

    package mutating func workerLost(_ epoch: Int64) { controller.workerLost(epoch) }

    package mutating func override(_ destination: Destination, _ value: LinkOverride, now: Int64) {
        meet(destination, now: now)
        controller.override(destination, value, now: MonotonicTime(nanoseconds: now))
    }

    package mutating func uplinkLost(_ name: String, reason: String, now: Int64) {
        controller.uplinkLost(name, reason: reason, now: MonotonicTime(nanoseconds: now))
    }

    package mutating func uplinkReplaced(_ name: String, now: Int64) {
        controller.uplinkReplaced(name, now: MonotonicTime(nanoseconds: now))
    }

    package mutating func uplinkFound(_ name: String, now: Int64) {
        controller.uplinkFound(name, now: MonotonicTime(nanoseconds: now))
    }

    package mutating func restore(_ memory: LinkHistory, of key: LinkKey, now: Int64) {
        if let destination = key.destination { meet(destination, now: now) }
        controller.restore(memory, of: key, now: MonotonicTime(nanoseconds: now))
    }

    // MARK: Time

    /// Decides anew. Call it 4 times a second.
    /// - Parameter waiting: ready commands in memory of the destinations where their number has changed.
    package mutating func tick(waiting: [Destination: [QualityOfService: Int]], minuteOfDay: Int, now: Int64) {
        controller.minuteOfDay = minuteOfDay
        for (destination, counts) in waiting where destination != .none {
            controller.setWaiting(counts, for: LinkKey(destination, .up), now: MonotonicTime(nanoseconds: now))
        }
        adopt(controller.tick(now: MonotonicTime(nanoseconds: now)))
        let closed = Set(policy.destinations.keys.filter { controller.isOutOfHours(LinkKey($0, .up)) })
        released.formUnion(outOfHours.subtracting(closed))
        outOfHours = closed
        claims = claims.filter { controller.isRunning($0.key) }
    }

    private mutating func adopt(_ new: NetworkDecisions) {
        let (changed, forgotten) = (decisions.changed, decisions.forgotten)
        decisions = new
        decisions.changed = changed + new.changed
        decisions.forgotten = forgotten + new.forgotten
        for (key, allowance) in new.allowances where key.direction == .up {
            guard let destination = key.destination, allowances[destination] != allowance else { continue }
            allowances[destination] = allowance
            released.insert(destination)
        }
    }

    /// Destinations of which admission is to be asked again: their allowance has changed, or their hours have begun.
    package mutating func takeReleased() -> Set<Destination> {
        defer { released = [] }
        return released
    }

    /// Destinations that have answered, or taken bytes, for the first time or again.
    package mutating func takeProven() -> [Destination] { controller.takeProven() }

    /// Links that are known no more since the last call.
    package mutating func takeForgotten() -> [LinkKey] {
        defer { decisions.forgotten = [] }
        return decisions.forgotten
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
        srtt = transfer.roundTrip > 0 ? .microseconds(transfer.roundTrip) : nil
        minRTT = transfer.minRoundTrip > 0 ? .microseconds(transfer.minRoundTrip) : nil
        isWindowClosed = transfer.isWindowClosed
        timeToFirstByte = transfer.firstByte > 0 ? .microseconds(transfer.firstByte) : nil
        isResumable = transfer.isResumable
        isIdempotent = transfer.isIdempotent
    }
}

extension StatusReport {
    /// There was no answer: the connection ended, or there was none at all.
    var failedForLink: Bool { fault == .link && !isAnswer && !isPushback }

    /// Its connection broke, or its server still holds the connection before and answers 423: it goes on from where it is. A
    /// command that was refused because there are too many does not.
    var isReconnecting: Bool { (fault == .link || fault == .command) && !isPushback }
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
