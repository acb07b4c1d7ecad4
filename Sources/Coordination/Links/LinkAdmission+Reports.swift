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
