internal import Commands
internal import Host

/// How fast the transfers of each quality may send.
extension NetworkController {
    /// The rate that a person set for a link, in bytes per second; nil: none.
    package func maxRate(of key: LinkKey) -> Int64? {
        key.destination.flatMap { overrides[$0]?.maxRate ?? policy.destinations[$0]?.maxRate }
    }

    /// A rate that a person set holds from a coordinator's first message on: for links of which no worker has
    /// reported transfers, and for those that no tick has looked at yet.
    func addPacingOfUndecidedLinks(to decided: inout [Pacing]) {
        for destination in Set(overrides.keys).union(policy.destinations.keys).sorted(by: { $0.text < $1.text }) {
            for direction in Direction.allCases {
                let key = LinkKey(destination, direction)
                guard pacing[key] == nil, let rate = maxRate(of: key) else { continue }
                decided += QualityOfService.allCases.map { Pacing(key: key, qos: $0, bytesPerSecond: rate) }
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
        if let own = ownRate(qos, key, snapshot) {
            links[key]?.paceOrigin.set(qos, isMaxRate: own < rates.min() ?? .infinity, now: now)
            rates.append(own)
        } else {
            links[key]?.paceOrigin.set(qos, isMaxRate: false, now: now)
        }
        return rates.min()
    }

    /// The rates that a person set for a link that is offline. Transfers that are left to their connections, and
    /// the probe, obey them too.
    func ownPacing(_ key: LinkKey, _ snapshot: LinkSnapshot) -> [Pacing] {
        QualityOfService.allCases.compactMap { qos in
            ownRate(qos, key, snapshot).map { Pacing(key: key, qos: qos, bytesPerSecond: Self.whole($0)) }
        }
    }

    /// The share of each transfer in the rate that a person set; nil where none is set.
    private func ownRate(_ qos: QualityOfService, _ key: LinkKey, _ snapshot: LinkSnapshot) -> Double? {
        maxRate(of: key).map {
            share(of: qos.serviceClass, in: Double($0), key) / Double(snapshot.sharers(of: qos.serviceClass))
        }
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
