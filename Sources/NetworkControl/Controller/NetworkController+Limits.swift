internal import Commands
internal import Host

/// How many transfers each link may have.
extension NetworkController {
    /// From the end of a transfer to the first byte of the next in its slot, on a busy machine.
    private static let turnaround: Duration = .milliseconds(100)

    /// Transfers of middle and low QoS at once: the controller's limit, within what the level allows. An
    /// uplink's own controller decides nothing: its links share what its level allows.
    func limit(of link: LinkController) -> Int {
        if link.level == .offline { return 0 }
        if link.key.destination == nil { return maxLimit(of: link) }
        return min(link.limit, maxLimit(of: link))
    }

    /// The limit by the policy and the level, whatever was measured.
    func maxLimit(of link: LinkController) -> Int {
        let maxCount = link.key.destination.map { policy.destinations[$0]?.maxConcurrency ?? .max } ?? .max
        guard link.level != .offline else { return 1 }
        if let fixed = policy.fixedConcurrency { return min(fixed, maxCount) }
        if (link.key.destination == nil || link.isFixed) && link.level <= .good {
            return min(policy.globalLimit, maxCount)
        }
        return min(policy[link.level].limit, maxCount)
    }

    /// The limit that all links of an uplink share; nil where it bounds none of them.
    func sharedLimit(of uplink: LinkKey?) -> Int? {
        guard let uplink, let level = links[uplink]?.level, level > .good else { return nil }
        return max(policy[level].limit, 1)
    }

    /// Transfers to offer beyond the limit. Between two transfers in a slot its worker commits, reports, is
    /// offered the next and commits again. Where they are short, a few more are offered than are to run, so
    /// that slots are not empty meanwhile: of 32, 28 were busy with files of 200 kB that took 0.4 s
    /// (measured).
    func extraOffers(_ key: LinkKey, limit: Int) -> Int {
        guard let link = links[key], !link.isFixed, !link.pushback.isBarred,
            key.destination.map({ policy.destinations[$0]?.maxConcurrency == nil }) ?? true
        else { return 0 }
        let endings = Double(link.lastInterval.completed) / max(link.lastInterval.duration.seconds, 0.1)
        return min(Int(endings * Self.turnaround.seconds), limit / 8)
    }
}

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
