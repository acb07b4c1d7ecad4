internal import Commands
internal import Host

/// How fast the transfers of each quality may send.
extension NetworkController {
    /// The rate that a person set for a link, in bytes per second; nil: none.
    package func maxRate(of key: LinkKey) -> Int64? {
        key.destination.flatMap { overrides[$0]?.maxRate ?? policy.destinations[$0]?.maxRate }
    }

    /// A rate that a person set holds from a coordinator's first message on, before a worker has reported
    /// transfers.
    func addPacingOfUnknownLinks(to pacing: inout [Pacing]) {
        for destination in Set(overrides.keys).union(policy.destinations.keys).sorted(by: { $0.text < $1.text }) {
            for direction in Direction.allCases {
                let key = LinkKey(destination, direction)
                guard links[key] == nil, let rate = maxRate(of: key) else { continue }
                pacing += QualityOfService.allCases.map { Pacing(key: key, qos: $0, bytesPerSecond: rate) }
            }
        }
    }

    /// Bytes per second for each transfer of a quality: the lowest of the decisions, the person's rate and a
    /// pause.
    mutating func rate(
        _ qos: QualityOfService, _ effective: EffectivePolicy, _ snapshot: LinkSnapshot, hasFloor: Bool,
        now: MonotonicTime
    ) -> Double? {
        let key = effective.key
        var rates = [effective.own.rate(qos), effective.above?.rate(qos)].compactMap { $0 }
        let floor = effective.capacity * Double(policy.floorPercent) / 100
        let count = Double(max(snapshot.counts[qos.serviceClass.rawValue], 1))
        if hasFloor {
            rates.append(floor)
        } else if effective.verb(qos) == .preempt,
            hasHigherQuality(than: qos, on: key, snapshot) || hasHigherQuality(than: qos, above: key)
        {
            // Transfers that may not be cut, or began between two waves.
            rates.append(floor / count)
        }
        if effective.verb(qos) == .pause {
            let since = pausedSince[key]?[qos] ?? now
            pausedSince[key, default: [:]][qos] = since
            let isLong = now - since >= policy.maxStandstill / 2
            rates.append(isLong ? floor / count : 0)
        } else {
            pausedSince[key]?[qos] = nil
        }
        if let maxRate = maxRate(of: key) {
            let own =
                share(of: qos.serviceClass, in: Double(maxRate), key) / Double(snapshot.sharers(of: qos.serviceClass))
            links[key]?.paceOrigin.set(qos, isMaxRate: own < rates.min() ?? .infinity, now: now)
            rates.append(own)
        } else {
            links[key]?.paceOrigin.set(qos, isMaxRate: false, now: now)
        }
        return rates.min()
    }

    /// The part of a person's rate for a class: all that higher classes leave, and at least the floor.
    private func share(of serviceClass: ServiceClass, in maxRate: Double, _ key: LinkKey) -> Double {
        let interval = links[key]?.lastInterval ?? LinkInterval()
        let middle = interval.rate - interval.highRate - interval.lowRate
        let above: Double
        switch serviceClass {
        case .high: above = 0
        case .middle: above = interval.highRate
        case .low: above = interval.highRate + middle
        }
        return max(maxRate - above, maxRate * Double(policy.floorPercent) / 100)
    }
}
