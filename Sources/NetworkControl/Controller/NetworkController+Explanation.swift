package import Commands
package import Host

/// The links as people see them.
extension NetworkController {
    package func state(of key: LinkKey, now: MonotonicTime) -> LinkState? {
        guard let link = links[key] else { return nil }
        let snapshot = snapshots[key] ?? LinkSnapshot()
        let worst = chain(key).compactMap { links[$0] }.max { $0.level < $1.level } ?? link
        let isAbove = worst.level > link.level
        let explained = isAbove ? worst : link
        let explanation = explained.explanation(now: now)
        var state = LinkState(key: key, level: level(of: key), reason: explanation.reason, since: explanation.since)
        state.remedy = explanation.remedy
        state.change = explained.recentChange(now: now)
        if isAbove { state.reason.uplink = worst.key.name }
        state.isForced = link.isForcedOffline
        state.limit = limit(of: link)
        state.inFlight = snapshot.inFlight
        state.highInFlight = snapshot.highInFlight
        state.rate = link.lastInterval.rate
        state.goodput = link.estimator.estimate
        state.reference = link.estimator.reference(now: now)
        state.srtt = link.lastInterval.srtt
        state.baseRTT = link.estimator.baseRTT
        state.nextProbe = link.isForcedOffline ? nil : link.circuitBreaker.nextProbe
        state.circuitBreaker = circuitBreakerState(of: key)
        state.refusal = refusal(of: key)
        return state
    }

    /// Why commands of a quality wait for the link; nil where they do not.
    package func waitReason(
        of qos: QualityOfService, to key: LinkKey, now: MonotonicTime
    ) -> LinkWaitReason<MonotonicTime>? {
        let level = level(of: key)
        let verb = chain(key).compactMap { links[$0] }.map { policy[$0.level][qos] }.reduce(.run, PolicyVerb.stricter)
        func wait(_ reason: LinkReason, _ verb: PolicyVerb, since: MonotonicTime?, remedy: LinkRemedy?)
            -> LinkWaitReason<MonotonicTime>
        {
            var wait = LinkWaitReason(link: key.name, level: level, verb: verb, reason: reason, since: since)
            wait.remedy = remedy
            return wait
        }
        if let outage = key.destination.flatMap({ circuitBreakers[$0]?.outage }), level != .offline {
            return wait(LinkReason(.circuitBreaker), .pause, since: outage.since, remedy: LinkRemedy(.probe))
        }
        if qos == .background, isOutOfHours(key),
            let hours = key.destination.flatMap({ policy.destinations[$0]?.backgroundHours })
        {
            let (from, to) = (Double(hours.from), Double(hours.to))
            return wait(
                LinkReason(.hours, measured: Double(minuteOfDay), threshold: from, usual: to), .pause, since: nil,
                remedy: LinkRemedy(.hours, threshold: from))
        }
        guard let state = state(of: key, now: now) else { return nil }
        if level != .offline, let contention = contention(of: qos, verb, key, now: now) { return contention }
        guard level == .offline || verb != .run else { return nil }
        // As in the decision: a throttle holds only beside a higher quality.
        if case .throttle = verb, level != .offline,
            !hasHigherQuality(than: qos, on: key, snapshots[key] ?? LinkSnapshot()),
            !hasHigherQuality(than: qos, above: key)
        {
            return nil
        }
        return wait(state.reason, verb, since: state.since, remedy: state.remedy)
    }

    /// High quality has the link or its uplink, and the policy's row `contended` is stricter than the level.
    private func contention(
        of qos: QualityOfService, _ verb: PolicyVerb, _ key: LinkKey, now: MonotonicTime
    ) -> LinkWaitReason<MonotonicTime>? {
        guard qos.serviceClass != .high,
            PolicyVerb.stricter(verb, policy.contended[qos]) == policy.contended[qos],
            let contended = chain(key).first(where: { links[$0]?.planner.since != nil }),
            let link = links[contended]
        else { return nil }
        let capacity = link.capacity(now: now)
        var wait = LinkWaitReason(
            link: contended.name, level: level(of: contended), verb: policy.contended[qos],
            reason: LinkReason(
                .contended, measured: link.lastInterval.rate, threshold: capacity.map { $0 * 0.8 }, usual: capacity),
            since: link.planner.since)
        wait.remedy = LinkRemedy(.contended, for: policy.preemption.idleAfter)
        return wait
    }
}
