internal import Commands
internal import Host

/// Which transfers yield to higher quality.
extension NetworkController {
    func preemptionInput(
        _ key: LinkKey, _ link: LinkController, _ snapshot: LinkSnapshot, capacity: Double?, now: MonotonicTime
    ) -> PreemptionInput {
        var input = PreemptionInput()
        input.capacity = capacity
        input.isSaturated = link.isSaturated(now: now)
        input.level = link.level
        input.highRate = link.lastInterval.highRate
        input.lowRate = link.lastInterval.lowRate
        var remaining: Int64? = 0
        for transfer in snapshot.transfers {
            if transfer.qos.serviceClass == .high {
                input.highCount += 1
                remaining = transfer.remaining.flatMap { rest in remaining.map { $0.saturating(plus: rest) } }
            } else if orders[transfer.id] == nil, policy[link.level][transfer.qos] != .cancel {
                input.others.append(transfer)
            }
        }
        for transfer in announced.values where chain(transfer.key).contains(key) {
            input.highCount += 1
            remaining = transfer.bytes.flatMap { bytes in remaining.map { $0.saturating(plus: bytes) } }
        }
        input.highRemaining = remaining
        return input
    }

    /// Whether a transfer of a higher quality runs on the link, or is about to.
    func hasHigherQuality(than qos: QualityOfService, on key: LinkKey, _ snapshot: LinkSnapshot) -> Bool {
        snapshot.transfers.contains { $0.qos > qos }
            || announced.values.contains { $0.qos > qos && chain($0.key).contains(key) }
    }

    /// The same for the uplink above the link.
    func hasHigherQuality(than qos: QualityOfService, above key: LinkKey) -> Bool {
        uplink(of: key).map { hasHigherQuality(than: qos, on: $0, snapshots[$0] ?? LinkSnapshot()) } ?? false
    }

    /// No wave of cuts touched the link, the uplink above it or links below it within the interval.
    func mayCut(_ key: LinkKey, now: MonotonicTime) -> Bool {
        !lastCuts.contains { other, at in
            now - at < policy.preemption.waveInterval
                && (other == key || uplink(of: other) == key || uplink(of: key) == other)
        }
    }

    /// Adds orders for the transfers that have none.
    /// - Parameter wave: the link whose wave of cuts this is; nil for an order outside of waves.
    mutating func order(
        _ ids: [CommandID], _ verb: TransferOrder.Verb, _ cause: TransferOrder.Cause, _ wave: LinkKey?,
        now: MonotonicTime
    ) {
        for id in ids where orders[id] == nil {
            orders[id] = TransferOrder(id: id, verb: verb, cause: cause)
            // One that has sent nothing does not start over.
            guard verb == .cut, let sample = transfers[id]?.sample, !sample.isResumable, sample.acknowledged > 0 else {
                continue
            }
            restarts[id, default: 0] += 1
        }
        if let wave, !ids.isEmpty { lastCuts[wave] = now }
    }
}

extension Int64 {
    fileprivate func saturating(plus other: Int64) -> Int64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? .max : sum
    }
}
