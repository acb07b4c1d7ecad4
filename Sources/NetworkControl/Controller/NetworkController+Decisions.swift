internal import Commands
package import Host

/// Decides what each link allows, from what was measured and what the policy says.
extension NetworkController {
    /// Decides on the links that have transfers or announced ones of high QoS.
    package mutating func decide(now: MonotonicTime) -> NetworkDecisions {
        var keys = Set(snapshots.keys)
        for transfer in announced.values { keys.formUnion(chain(transfer.key)) }
        for key in keys { if let uplink = uplink(of: key) { keys.insert(uplink) } }
        return decide(Self.ordered(keys.filter { links[$0] != nil }), now: now)
    }

    /// - Parameter keys: of links, with the uplinks above them, in their order. When an uplink's decision
    ///   changes, the links below it are decided anew too.
    mutating func decide(_ keys: [LinkKey], now: MonotonicTime) -> NetworkDecisions {
        var decisions = NetworkDecisions()
        var changedUplinks: Set<LinkKey> = []
        for key in keys {
            let before = policyDecisions[key]
            policyDecisions[key] = decidePolicy(of: key, now: now)
            let isOther = before.map { !$0.allowsTheSame(as: policyDecisions[key]) } ?? false
            if key.destination == nil, isOther || published[key] ?? .unknown != level(of: key) {
                changedUplinks.insert(key)
            }
        }
        var keys = keys
        if !changedUplinks.isEmpty {
            let known = Set(keys)
            let below = links.keys.filter {
                !known.contains($0) && uplink(of: $0).map(changedUplinks.contains) ?? false
            }
            for key in below { policyDecisions[key] = decidePolicy(of: key, now: now) }
            keys += Self.ordered(Set(below))
        }
        for key in keys {
            let level = level(of: key)
            if published[key] ?? .unknown != level { decisions.changed.append(key) }
            published[key] = level
            guard key.destination != nil, let own = policyDecisions[key] else { continue }
            let effective = EffectivePolicy(
                key: key, level: level, own: own, above: uplink(of: key).flatMap { policyDecisions[$0] })
            var pacing: [Pacing] = []
            decisions.allowances[key] = apply(effective, pacing: &pacing, now: now)
            self.pacing[key] = pacing.isEmpty ? nil : pacing
        }
        decisions.pacing = Self.ordered(Set(pacing.keys)).flatMap { pacing[$0] ?? [] }
        addPacingOfUndecidedLinks(to: &decisions.pacing)
        decisions.orders = orders.values.sorted { $0.id < $1.id }
        return decisions
    }

    /// The level that counts for a link: its own, or that of the uplink above it, where that is worse.
    package func level(of key: LinkKey) -> LinkLevel {
        chain(key).compactMap { links[$0]?.level }.max() ?? .unknown
    }

    private mutating func decidePolicy(of key: LinkKey, now: MonotonicTime) -> LinkPolicyDecision? {
        guard var link = links[key] else { return nil }
        let snapshot = snapshots[key] ?? LinkSnapshot()
        let row = policy[link.level]
        let capacity = link.capacity(now: now)
        let input =
            policy.preemptionIsOn && policy.fixedConcurrency == nil
            ? preemptionInput(key, link, snapshot, capacity: capacity, now: now) : PreemptionInput()
        let preemption = link.planner.decide(
            input, rules: policy.preemption, maxStandstill: policy.maxStandstill, mayCut: mayCut(key, now: now),
            now: now, restarts: { restarts[$0, default: 0] })
        links[key] = link
        if !preemption.cuts.isEmpty {
            order(preemption.cuts, .cut, .contention(key), key, now: now)
        }
        let verbs = QualityOfService.allCases.map { qos -> PolicyVerb in
            var verb = row[qos]
            // Slower transfers of its own quality or a lower one do not help a command that waits for a slot.
            if case .throttle = verb, !hasHigherQuality(than: qos, on: key, snapshot) { verb = .run }
            return preemption.isContended ? .stricter(verb, policy.contended[qos]) : verb
        }
        let unknown = key.destination == nil ? .infinity : LinkPolicyDecision.unknownCapacity
        // In the second before a fall is certain, a percent of the old capacity would be all of the new one.
        let shared = min(capacity ?? unknown, link.estimator.fallen ?? .infinity)
        return LinkPolicyDecision(
            verbs: verbs, key: key, capacity: shared, counts: snapshot.counts, preemption: preemption)
    }

    // MARK: Carrying out

    /// Reports of workers may state any number of bytes.
    static func whole(_ rate: Double) -> Int64 { Int64(min(max(rate, 0), 9e18)) }

    private mutating func apply(
        _ effective: EffectivePolicy, pacing: inout [Pacing], now: MonotonicTime
    ) -> LinkAllowance {
        let key = effective.key
        let snapshot = snapshots[key] ?? LinkSnapshot()
        if effective.level == .offline {
            pacing = ownPacing(key, snapshot)
            return releaseTransfers(effective, snapshot, now: now)
        }
        let limit = links[key].map { self.limit(of: $0) } ?? 1
        let offered = limit + (effective.isFree ? extraOffers(key, limit: limit) : 0)
        var allowance = LinkAllowance(level: effective.level, limit: offered, lowLimit: offered)
        allowance.maxConcurrency = key.destination.flatMap { policy.destinations[$0]?.maxConcurrency }
        fill(&allowance, of: key, now: now)
        allowance.uplink = uplink(of: key)
        allowance.uplinkLimit = sharedLimit(of: allowance.uplink)
        if effective.isLowBlocked { allowance.lowLimit = 0 }
        if !effective.isFree || maxRate(of: key) != nil {
            let spared = stop(effective, snapshot, &allowance, now: now)
            for qos in QualityOfService.allCases {
                let rate = rate(qos, effective, snapshot, hasFloor: spared?.qos == qos, now: now)
                if let rate { pacing.append(Pacing(key: key, qos: qos, bytesPerSecond: Self.whole(rate))) }
            }
        } else {
            pausedSince[key] = nil
        }
        return allowance
    }

    /// Offline: transfers that can be resumed are released. One that starts over from 0 is left to its
    /// connection, which survives a short outage, where a cut would send all of it twice.
    private mutating func releaseTransfers(
        _ effective: EffectivePolicy, _ snapshot: LinkSnapshot, now: MonotonicTime
    ) -> LinkAllowance {
        let key = effective.key
        pausedSince[key] = nil
        let isForced = links[key]?.isForcedOffline == true
        for transfer in snapshot.transfers where links[key]?.circuitBreaker.isProbe(transfer.id) != true {
            if effective.verb(transfer.qos) == .cancel {
                order([transfer.id], .cancel, cause(of: key), nil, now: now)
            } else if transfer.isIdempotent && (transfer.isResumable || isForced) {
                order([transfer.id], .cut, cause(of: key), nil, now: now)
            }
        }
        return LinkAllowance(level: .offline, limit: 0, lowLimit: 0, blocked: Set(QualityOfService.allCases))
    }

    /// Carries out `pause`, `preempt` and `cancel`. One transfer is spared where nothing else may run, so
    /// that the link is used, its recovery is seen and every transfer ends at last. If a higher quality runs,
    /// one is spared at the floor, from half of ``NetworkPolicy/maxStandstill`` after the cut on.
    /// - Returns: the one that is spared at the floor.
    private mutating func stop(
        _ effective: EffectivePolicy, _ snapshot: LinkSnapshot, _ allowance: inout LinkAllowance, now: MonotonicTime
    ) -> TransferSample? {
        let key = effective.key
        let verbs = effective.verbs
        let stopped = QualityOfService.allCases.filter { verbs[$0.rawValue].strictness >= PolicyVerb.pause.strictness }
        guard !stopped.isEmpty else { return nil }
        allowance.blocked.formUnion(stopped)
        for transfer in snapshot.transfers where verbs[transfer.qos.rawValue] == .cancel {
            order([transfer.id], .cancel, cause(of: effective.author(transfer.qos)), nil, now: now)
        }
        let preempted = stopped.filter { verbs[$0.rawValue] == .preempt }
        guard let lowest = preempted.max() else { return nil }
        let hasHigher = hasHigherQuality(than: lowest, on: key, snapshot) || hasWaiting(key) { $0 > lowest }
        // A class that was never cut waits since the level was entered.
        let lastCut = chain(key).compactMap { lastCuts[$0] }.max() ?? links[effective.author(lowest)]?.judge.since
        let isFloorDue = lastCut.map { now - $0 >= policy.maxStandstill / 2 } ?? false
        var victims = PreemptionPlanner.victims(
            snapshot.transfers.filter { preempted.contains($0.qos) && orders[$0.id] == nil })
        var spared: TransferSample?
        if !hasHigher || isFloorDue {
            spared = victims.popLast()
            allowance.lowLimit = min(allowance.lowLimit, 1)
            // The slot is free: a waiting command may have it.
            if spared == nil { allowance.blocked.subtract(preempted) }
        }
        victims.removeAll { !$0.isResumable && restarts[$0.id, default: 0] >= policy.preemption.maxRestarts }
        if !victims.isEmpty, mayCut(key, now: now) {
            order(victims.map(\.id), .cut, cause(of: effective.author(victims[0].qos)), key, now: now)
        }
        return hasHigher ? spared : nil
    }

    private func cause(of key: LinkKey) -> TransferOrder.Cause { .level(links[key]?.level ?? .unknown, key) }
}

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
