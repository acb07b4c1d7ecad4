package import Commands
package import Host
package import NetworkControl
package import Wire

/// Passes the reports of workers, people and the kernel to the controller.
extension LinkAdmission {
    /// An execution ended.
    package mutating func ended(_ report: StatusReport, now: MonotonicTime) {
        let event = report.event
        guard event.destination != .none else { return }
        let reason = event.transition.reason ?? ""
        let outcome: TransferOutcome
        switch (event.transition.status, report.fault) {
        case _ where report.isUnavailable: outcome = .unavailable(reason: reason, report.unavailable?.target)
        case _ where report.isPushback: outcome = .pushedBack
        case (_, .credential): outcome = .refused(.credential, reason: reason, isAnswer: report.isAnswer)
        case (_, .destination): outcome = .refused(.destination, reason: reason, isAnswer: report.isAnswer)
        case _ where report.failedForLink: outcome = .unreachable(reason: reason)
        // An answer, for instance 423 (locked), or a refusal that a retry does not change.
        case (_, .link): outcome = .answered
        case (_, .final) where report.isAnswer: outcome = .answered
        case (.success, nil): outcome = .answered
        case (_, .command) where report.isAnswer: outcome = .answeredWithError
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

    /// The transfers of a worker, which replace those of its last report.
    package mutating func report(_ transfers: TransferReport, worker: Int64, now: MonotonicTime) {
        for link in transfers.links { register(link.destination, link.direction, now: now) }
        var samples: [TransferSample] = []
        samples.reserveCapacity(transfers.transfers.count)
        for transfer in transfers.transfers {
            let link = transfers.links[transfer.link]
            guard link.destination != .none else { continue }
            if let known = claims[transfer.id], known != transfer.claim {
                // A late report of an execution that has ended, or the first of one that no order means.
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

    package mutating func override(_ destination: Destination, _ value: LinkOverride, now: MonotonicTime) {
        register(destination, .up, now: now)
        controller.override(destination, value, now: now)
    }

    /// The kernel has changed its routes. Losses come last: a destination that takes another way is not offline with the uplink
    /// that it left.
    mutating func uplinksChanged(
        _ changes: [UplinkState.Change], _ routes: [Destination: Route], now: MonotonicTime
    ) {
        for change in changes {
            switch change {
            case .mainReplaced: uplinkReplaced("", now: now)
            case .found(let name): uplinkFound(name, now: now)
            case .lost: break
            }
        }
        for (destination, route) in routes { routed(destination, route, now: now) }
        for case .lost(let name, let reason) in changes { uplinkLost(name, reason: reason, now: now) }
    }

    package mutating func uplinkLost(_ name: String, reason: LinkReason, now: MonotonicTime) {
        controller.uplinkLost(name, reason: reason, now: now)
    }

    package mutating func uplinkReplaced(_ name: String, now: MonotonicTime) {
        controller.uplinkReplaced(name, now: now)
    }

    package mutating func uplinkFound(_ name: String, now: MonotonicTime) { controller.uplinkFound(name, now: now) }

    package mutating func restore(_ memory: LinkHistory, of key: LinkKey, now: MonotonicTime) {
        if let destination = key.destination { register(destination, key.direction, now: now) }
        controller.restore(memory, of: key, now: now)
    }
}

extension TransferSample {
    fileprivate init(_ transfer: TransferReport.Transfer, _ link: TransferReport.Link) {
        self.init(id: transfer.id, destination: link.destination, direction: link.direction, qos: transfer.qos)
        // A transfer that computes a checksum neither moves bytes nor waits for its link.
        switch transfer.isVerifying ? .paused : transfer.pacing {
        case .free: state = .running
        case .throttled: state = .throttled
        case .paused: state = .paused
        }
        acknowledged = transfer.acknowledged
        offset = transfer.isVerifying ? 0 : transfer.offset
        retransmitted = transfer.retransmitted
        let rest = transfer.total > 0 ? max(transfer.total - transfer.offset, 0) : nil
        remaining = transfer.isVerifying ? 0 : rest
        srtt = transfer.roundTrip
        minRTT = transfer.minRoundTrip
        isWindowClosed = transfer.isWindowClosed
        timeToFirstByte = transfer.firstByte
        isResumable = transfer.isResumable
        isIdempotent = transfer.isIdempotent
    }
}

extension StatusReport {
    /// There was no answer: the connection broke, or was never made.
    var failedForLink: Bool { fault == .link && !isAnswer && !isPushback }

    /// The answer was 503. Release 0.1.0 reports only those that it does not charge.
    var isUnavailable: Bool { unavailable != nil || fault == .link && isPushback }

    /// Its connection broke, or its server still holds the former connection and answers 423: the transfer
    /// continues from where it is. A command that was refused because of the number of commands does not.
    var isReconnecting: Bool { (fault == .link || fault == .command) && !isPushback }
}

/// The circuit breakers of the destinations, as the dispatcher sees them.
extension LinkAdmission {
    /// Longer than any destination refuses, and far from the end of an `Int64` of nanoseconds.
    private static let maxAge: Duration = .seconds(10 * 366 * 86_400)

    /// URLs that are read at a time.
    private static let maxTargets = 64

    /// Notes that the URLs of these commands are to be read, where the circuit breaker asks for them.
    mutating func wantTargets(of commands: [ReadyCommand], at destination: Destination) {
        guard controller.circuitBreakers[destination]?.outage?.cause == .unavailable else { return }
        for command in commands where targets[command.id] == nil {
            if unreadTargets.count >= Self.maxTargets { return }
            unreadTargets.insert(command.id)
        }
    }

    /// Commands whose URLs are to be read, since the last call.
    package mutating func takeUnreadTargets() -> [CommandID] {
        defer { unreadTargets = [] }
        return Array(unreadTargets)
    }

    /// Takes in URLs that were read.
    package mutating func learn(_ targets: [CommandID: CommandTarget?]) {
        self.targets.merge(targets) { $1 }
    }

    /// Whether the command may be the probe of its destination's circuit breaker now. One whose URL is not read yet
    /// waits until any command may.
    func mayProbe(_ command: ReadyCommand, now: MonotonicTime) -> Bool {
        guard let circuitBreaker = controller.circuitBreakers[command.destination] else { return true }
        guard circuitBreaker.outage?.cause == .unavailable, targets[command.id] == nil else {
            return circuitBreaker.mayProbe(command.id, targets[command.id] ?? nil, now: now)
        }
        return circuitBreaker.nextProbe.map { now >= $0 } ?? circuitBreaker.isProbeDue(now: now)
    }

    /// Whether one command is a better probe than another: one whose URL was not answered 503; then one that has not
    /// failed since the circuit breaker opened, then the one that failed longest ago; among equals the one with the fewest bytes, because they
    /// may be wasted.
    package func isBetterProbe(_ command: ReadyCommand, than other: ReadyCommand) -> Bool {
        let circuitBreaker = controller.circuitBreakers[command.destination]
        func rank(_ command: ReadyCommand) -> (Int, MonotonicTime, Int64, Int, Int64) {
            (
                circuitBreaker?.isOther(command.id, targets[command.id] ?? nil) ?? true ? 0 : 1,
                circuitBreaker?.lastFailure(of: command.id) ?? MonotonicTime(nanoseconds: .min),
                command.remaining ?? .max, command.qos.rawValue,
                command.turn
            )
        }
        return rank(command) < rank(other)
    }

    /// Destinations whose circuit breaker opened or closed since the last call.
    package mutating func takeChangedCircuitBreakers() -> Set<Destination> { controller.takeChangedCircuitBreakers() }

    /// Opens the circuit breaker of a destination as another coordinator left it.
    /// - Parameters:
    ///   - circuitBreaker: as its setting says.
    ///   - wall: the time now by the clock that its `since` is of.
    package mutating func restore(
        _ circuitBreaker: CircuitBreakerState<Timestamp>, of destination: Destination, wall: Timestamp,
        now: MonotonicTime
    ) {
        register(destination, .up, now: now)
        // A damaged or future time counts as the nearest possible one.
        let age = min(max(wall - circuitBreaker.since, .zero), Self.maxAge)
        controller.restore(
            circuitBreaker.cause, reason: circuitBreaker.reason, since: now - age,
            of: destination, now: now)
    }
}
