package import Commands
package import Host

extension NetworkController {
    /// What holds as things stand, of the links that have transfers or await high QoS.
    package mutating func decide(now: MonotonicTime) -> NetworkDecisions {
        var keys = Set(views.keys)
        for arrival in arrivals.values { keys.formUnion(chain(arrival.key)) }
        for key in keys { if let uplink = uplink(of: key) { keys.insert(uplink) } }
        return decide(Self.ordered(keys.filter { links[$0] != nil }), now: now)
    }

    /// - Parameter keys: of links, with the uplinks above them, in their order. Where an uplink's decision changes, all links
    ///   below it are looked at.
    mutating func decide(_ keys: [LinkKey], now: MonotonicTime) -> NetworkDecisions {
        var decisions = NetworkDecisions()
        var changedUplinks: Set<LinkKey> = []
        for key in keys {
            let before = rulings[key]
            rulings[key] = rule(key, now: now)
            let isOther = before.map { !$0.allowsTheSame(as: rulings[key]) } ?? false
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
            for key in below { rulings[key] = rule(key, now: now) }
            keys += Self.ordered(Set(below))
        }
        for key in keys {
            let level = level(of: key)
            if published[key] ?? .unknown != level { decisions.changed.append(key) }
            published[key] = level
            guard key.destination != nil, let own = rulings[key] else { continue }
            let governed = EffectivePolicy(
                key: key, level: level, own: own, above: uplink(of: key).flatMap { rulings[$0] })
            var pacing: [Pacing] = []
            decisions.allowances[key] = govern(governed, pacing: &pacing, now: now)
            self.pacing[key] = pacing.isEmpty ? nil : pacing
        }
        decisions.pacing = Self.ordered(Set(pacing.keys)).flatMap { pacing[$0] ?? [] }
        limitUnseen(&decisions.pacing)
        decisions.orders = orders.values.sorted { $0.id < $1.id }
        return decisions
    }

    /// A rate that somebody set holds from the first word of a coordinator on, before a worker has told of the transfers.
    private func limitUnseen(_ pacing: inout [Pacing]) {
        for destination in Set(overrides.keys).union(policy.destinations.keys).sorted(by: { $0.text < $1.text }) {
            for direction in Direction.allCases {
                let key = LinkKey(destination, direction)
                guard links[key] == nil, let rate = maxRate(of: key) else { continue }
                pacing += QualityOfService.allCases.map { Pacing(key: key, qos: $0, bytesPerSecond: rate) }
            }
        }
    }

    /// The level that counts for a link: its own, or that of the uplink above it, where that is worse.
    package func level(of key: LinkKey) -> LinkLevel {
        chain(key).compactMap { links[$0]?.level }.max() ?? .unknown
    }

    // MARK: Rulings

    private mutating func rule(_ key: LinkKey, now: MonotonicTime) -> LinkPolicyDecision? {
        guard var link = links[key] else { return nil }
        let view = views[key] ?? LinkSnapshot()
        let row = policy[link.level]
        let capacity = link.capacity(now: now)
        let contest =
            policy.preemptionIsOn && policy.fixedConcurrency == nil
            ? contest(key, link, view, capacity: capacity, now: now) : PreemptionPlanner.PreemptionInput()
        let plan = link.planner.plan(
            contest, rules: policy.preemption,
            standstill: policy.longestStandstill, mayCut: mayCut(key, now: now), now: now,
            restarts: { restarts[$0, default: 0] })
        links[key] = link
        if !plan.cuts.isEmpty {
            order(
                plan.cuts, .cut, "high quality needs the link, and what these had under way would delay it", key,
                now: now)
        }
        let verbs = QualityOfService.allCases.map { qos -> PolicyVerb in
            var verb = row[qos]
            // Who waits for a place is not helped by others' writing less.
            if case .throttle = verb, !isOutrun(qos, on: key, view) { verb = .run }
            return plan.isContended ? .stricter(verb, policy.contended[qos]) : verb
        }
        let unknown = key.destination == nil ? .infinity : LinkPolicyDecision.unknownCapacity
        // A percent of what the link was would be all of what it has become, for the second in which that is not sure yet.
        let shared = min(capacity ?? unknown, link.estimator.fallen ?? .infinity)
        return LinkPolicyDecision(verbs: verbs, key: key, capacity: shared, counts: view.counts, plan: plan)
    }

    func contest(
        _ key: LinkKey, _ link: LinkController, _ view: LinkSnapshot, capacity: Double?, now: MonotonicTime
    ) -> PreemptionPlanner.PreemptionInput {
        var contest = PreemptionPlanner.PreemptionInput()
        contest.capacity = capacity
        contest.isSaturated = link.isSaturated(now: now)
        contest.level = link.level
        contest.highRate = link.lastTick.highRate
        contest.lowRate = link.lastTick.lowRate
        var remaining: Int64? = 0
        for transfer in view.transfers {
            if transfer.qos.serviceClass == .high {
                contest.highCount += 1
                remaining = transfer.remaining.flatMap { rest in remaining.map { $0.saturating(plus: rest) } }
            } else if orders[transfer.id] == nil, policy[link.level][transfer.qos] != .cancel {
                contest.others.append(transfer)
            }
        }
        for arrival in arrivals.values where chain(arrival.key).contains(key) {
            contest.highCount += 1
            remaining = arrival.bytes.flatMap { bytes in remaining.map { $0.saturating(plus: bytes) } }
        }
        contest.highRemaining = remaining
        return contest
    }

    /// Something of a higher quality runs there, or is about to.
    private func isOutrun(_ qos: QualityOfService, on key: LinkKey, _ view: LinkSnapshot) -> Bool {
        view.transfers.contains { $0.qos > qos }
            || arrivals.values.contains { $0.qos > qos && chain($0.key).contains(key) }
    }

    private func isOutrunAbove(_ qos: QualityOfService, _ key: LinkKey) -> Bool {
        uplink(of: key).map { isOutrun(qos, on: $0, views[$0] ?? LinkSnapshot()) } ?? false
    }

    /// No wave of cuts touched the link, the uplink above it or links below it within the interval.
    private func mayCut(_ key: LinkKey, now: MonotonicTime) -> Bool {
        !waves.contains { other, at in
            now - at < policy.preemption.waveInterval
                && (other == key || uplink(of: other) == key || uplink(of: key) == other)
        }
    }

    private func reason(of key: LinkKey, now: MonotonicTime) -> String {
        guard let link = links[key] else { return key.name }
        return "\(key.name) is \(link.level.name): \(link.explanation(now: now).reason)"
    }

    mutating func order(
        _ ids: [CommandID], _ verb: TransferOrder.Verb, _ reason: String, _ wave: LinkKey?, now: MonotonicTime
    ) {
        for id in ids where orders[id] == nil {
            orders[id] = TransferOrder(id: id, verb: verb, reason: reason)
            if verb == .cut, transfers[id]?.sample.isResumable == false { restarts[id, default: 0] += 1 }
        }
        if let wave, !ids.isEmpty { waves[wave] = now }
    }

    // MARK: Governing a link

    /// A link, its ruling, and that of the uplink above it.
    private struct EffectivePolicy {
        var key: LinkKey
        var level: LinkLevel
        var own: LinkPolicyDecision
        var above: LinkPolicyDecision?
        /// The stricter of both.
        let verbs: [PolicyVerb]

        init(key: LinkKey, level: LinkLevel, own: LinkPolicyDecision, above: LinkPolicyDecision?) {
            self.key = key
            self.level = level
            self.own = own
            self.above = above
            verbs = above.map { zip(own.verbs, $0.verbs).map(PolicyVerb.stricter) } ?? own.verbs
        }

        func verb(_ qos: QualityOfService) -> PolicyVerb { verbs[qos.rawValue] }
        /// Whose ruling the verb is.
        func author(_ qos: QualityOfService) -> LinkKey {
            verb(qos) == own.verbs[qos.rawValue] ? own.key : above?.key ?? own.key
        }
        var isLowClosed: Bool { own.plan.isLowClosed || above?.plan.isLowClosed ?? false }
        var capacity: Double { min(own.capacity, above?.capacity ?? .infinity) }
        var isFree: Bool { verbs.allSatisfy { $0 == .run } }
    }

    private mutating func govern(_ link: EffectivePolicy, pacing: inout [Pacing], now: MonotonicTime) -> LinkAllowance {
        let view = views[link.key] ?? LinkSnapshot()
        if link.level == .offline { return close(link, view, now: now) }
        let limit = links[link.key].map { self.limit(of: $0) } ?? 1
        let limitAndAhead = limit + (link.isFree ? ahead(link.key, limit: limit, now: now) : 0)
        var allowance = LinkAllowance(level: link.level, limit: limitAndAhead, lowLimit: limitAndAhead)
        allowance.maxConcurrency = link.key.destination.flatMap { policy.destinations[$0]?.maxConcurrency }
        fill(&allowance, of: link.key, now: now)
        allowance.uplink = uplink(of: link.key)
        allowance.uplinkLimit = sharedLimit(of: allowance.uplink)
        if link.isLowClosed { allowance.lowLimit = 0 }
        if !link.isFree || maxRate(of: link.key) != nil {
            let spared = stop(link, view, &allowance, now: now)
            for qos in QualityOfService.allCases {
                let rate = rate(qos, link, view, hasFloor: spared?.qos == qos, now: now)
                if let rate { pacing.append(Pacing(key: link.key, qos: qos, bytesPerSecond: Int64(rate))) }
            }
        } else {
            pausedSince[link.key] = nil
        }
        return allowance
    }

    /// Offline: what can go on elsewhere is released. What starts over from 0 is left to its connection, which survives a
    /// short outage, where a cut would send all of it twice.
    private mutating func close(_ link: EffectivePolicy, _ view: LinkSnapshot, now: MonotonicTime) -> LinkAllowance {
        pausedSince[link.key] = nil
        let isForced = links[link.key]?.isForcedOffline == true
        for transfer in view.transfers where links[link.key]?.circuitBreaker.isProbe(transfer.id) != true {
            if link.verb(transfer.qos) == .cancel {
                order([transfer.id], .cancel, reason(of: link.key, now: now), nil, now: now)
            } else if transfer.isIdempotent && (transfer.isResumable || isForced) {
                order([transfer.id], .cut, reason(of: link.key, now: now), nil, now: now)
            }
        }
        return LinkAllowance(level: .offline, limit: 0, lowLimit: 0, closed: Set(QualityOfService.allCases))
    }

    /// Carries out `pause`, `preempt` and `cancel`. One transfer is spared where nothing else may run, so that the link is
    /// used, its recovery is seen and everything ends at last; where something higher runs, from half of the longest
    /// standstill after the cut on, and at the floor.
    /// - Returns: the spared one.
    private mutating func stop(
        _ link: EffectivePolicy, _ view: LinkSnapshot, _ allowance: inout LinkAllowance, now: MonotonicTime
    ) -> TransferSample? {
        let verbs = link.verbs
        let stopped = QualityOfService.allCases.filter { verbs[$0.rawValue].strictness >= PolicyVerb.pause.strictness }
        guard !stopped.isEmpty else { return nil }
        allowance.closed.formUnion(stopped)
        for transfer in view.transfers where verbs[transfer.qos.rawValue] == .cancel {
            order([transfer.id], .cancel, reason(of: link.author(transfer.qos), now: now), nil, now: now)
        }
        let preempted = stopped.filter { verbs[$0.rawValue] == .preempt }
        guard let lowest = preempted.max() else { return nil }
        let isOutranked = isOutrun(lowest, on: link.key, view) || waits(link.key) { $0 > lowest }
        // Who was never cut waits since the level.
        let lastWave = chain(link.key).compactMap { waves[$0] }.max() ?? links[link.author(lowest)]?.judge.since
        let isFloorDue = lastWave.map { now - $0 >= policy.longestStandstill / 2 } ?? false
        var victims = PreemptionPlanner.victims(
            view.transfers.filter { preempted.contains($0.qos) && orders[$0.id] == nil })
        var spared: TransferSample?
        if !isOutranked || isFloorDue {
            spared = victims.popLast()
            allowance.lowLimit = min(allowance.lowLimit, 1)
            // The slot is free: one of them may have it.
            if spared == nil { allowance.closed.subtract(preempted) }
        }
        victims.removeAll { !$0.isResumable && restarts[$0.id, default: 0] >= policy.preemption.maxRestarts }
        if !victims.isEmpty, mayCut(link.key, now: now) {
            let reason = reason(of: link.author(victims[0].qos), now: now)
            order(victims.map(\.id), .cut, reason, link.key, now: now)
        }
        return isOutranked ? spared : nil
    }

    /// Bytes per second for each transfer of a quality: the least of what the rulings, the person's rate and a pause say.
    private mutating func rate(
        _ qos: QualityOfService, _ link: EffectivePolicy, _ view: LinkSnapshot, hasFloor: Bool, now: MonotonicTime
    ) -> Double? {
        var rates = [link.own.rate(qos), link.above?.rate(qos)].compactMap { $0 }
        let floor = link.capacity * Double(policy.floorPercent) / 100
        let count = Double(max(view.counts[qos.serviceClass.rawValue], 1))
        if hasFloor {
            rates.append(floor)
        } else if link.verb(qos) == .preempt, isOutrun(qos, on: link.key, view) || isOutrunAbove(qos, link.key) {
            // What may not be cut, or began between two waves.
            rates.append(floor / count)
        }
        if link.verb(qos) == .pause {
            let since = pausedSince[link.key]?[qos] ?? now
            pausedSince[link.key, default: [:]][qos] = since
            let isLong = now - since >= policy.longestStandstill / 2
            rates.append(isLong ? floor / Double(max(view.counts[qos.serviceClass.rawValue], 1)) : 0)
        } else {
            pausedSince[link.key]?[qos] = nil
        }
        if let maxRate = maxRate(of: link.key) {
            let tick = links[link.key]?.lastTick ?? LinkInterval()
            let middle = tick.rate - tick.highRate - tick.lowRate
            let above: Double
            switch qos.serviceClass {
            case .high: above = 0
            case .middle: above = tick.highRate
            case .low: above = tick.highRate + middle
            }
            let share = max(Double(maxRate) - above, Double(maxRate) * Double(policy.floorPercent) / 100)
            let own = share / Double(view.sharers(of: qos.serviceClass))
            links[link.key]?.pace.set(qos, isMaxRate: own < rates.min() ?? .infinity, now: now)
            rates.append(own)
        } else {
            links[link.key]?.pace.set(qos, isMaxRate: false, now: now)
        }
        return rates.min()
    }

    // MARK: What people see

    package func state(of key: LinkKey, now: MonotonicTime) -> LinkState? {
        guard let link = links[key] else { return nil }
        let view = views[key] ?? LinkSnapshot()
        let worst = chain(key).compactMap { links[$0] }.max { $0.level < $1.level } ?? link
        let explanation = (worst.level > link.level ? worst : link).explanation(now: now)
        let isAbove = worst.level > link.level
        return LinkState(
            key: key, level: level(of: key), isForced: link.isForcedOffline,
            limit: limit(of: link),
            inFlight: view.inFlight, highInFlight: view.highInFlight, rate: link.lastTick.rate,
            goodput: link.estimator.estimate, reference: link.estimator.reference(now: now),
            srtt: link.lastTick.srtt, baseRTT: link.estimator.baseRTT,
            reason: isAbove ? "the uplink \(worst.key.name): \(explanation.reason)" : explanation.reason,
            remedy: explanation.remedy, since: explanation.since,
            nextProbe: link.isForcedOffline ? nil : link.circuitBreaker.nextProbe,
            circuitBreaker: circuitBreakerState(of: key))
    }

    /// Which gate of the link holds a quality back; nil where none does.
    package func gate(of qos: QualityOfService, to key: LinkKey, now: MonotonicTime) -> LinkWaitReason? {
        if let destination = key.destination, let outage = circuitBreakers[destination]?.outage,
            level(of: key) != .offline
        {
            return LinkWaitReason(
                sentence: "the circuit breaker of \(destination) is open: \(outage.reason)", since: outage.since,
                remedy: "a probe that \(destination) accepts")
        }
        if qos == .background, isOutOfHours(key),
            let hours = key.destination.flatMap({ policy.destinations[$0]?.backgroundHours })
        {
            return LinkWaitReason(
                sentence: "\(key.name) takes background from \(hours.text) only, and it is "
                    + AllowedHours.text(minuteOfDay), remedy: "\(AllowedHours.text(hours.from)), local time")
        }
        guard let state = state(of: key, now: now) else { return nil }
        let verb = chain(key).compactMap { links[$0] }.map { policy[$0.level][qos] }.reduce(.run, PolicyVerb.stricter)
        if qos.serviceClass != .high, state.level != .offline,
            PolicyVerb.stricter(verb, policy.contended[qos]) == policy.contended[qos],
            let contended = chain(key).first(where: { links[$0]?.planner.since != nil }),
            let full = self.state(of: contended, now: now)
        {
            let reason = full.level > .good ? " (\(full.reason))" : ""
            let carried = MeasureText.rate(full.rate)
            let capacity = links[contended]?.capacity(now: now).map { " of \(MeasureText.rate($0))" } ?? ""
            return LinkWaitReason(
                sentence: "\(contended.name) is \(full.level.name)\(reason) and full (\(carried)\(capacity); "
                    + "four fifths are full), and high quality has it; "
                    + "\(qos.name) has “\(policy.contended[qos].name)” there",
                since: links[contended]?.planner.since,
                remedy: "no high quality for \(MeasureText.time(policy.preemption.idleAfter))")
        }
        guard state.level == .offline || verb != .run else { return nil }
        // As it is ruled: who waits for a place is not helped by others' writing less.
        if case .throttle = verb, state.level != .offline, !isOutrun(qos, on: key, views[key] ?? LinkSnapshot()),
            !isOutrunAbove(qos, key)
        {
            return nil
        }
        return LinkWaitReason(
            sentence: "\(key.name) is \(state.level.name): \(state.reason); \(qos.name) has “\(verb.name)” there",
            since: state.since, remedy: state.remedy)
    }
}

extension Int64 {
    fileprivate func saturating(plus other: Int64) -> Int64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? .max : sum
    }
}
