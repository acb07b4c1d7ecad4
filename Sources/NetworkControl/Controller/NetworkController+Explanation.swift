package import Commands
package import Host

/// The links as people see them.
extension NetworkController {
    package func state(of key: LinkKey, now: MonotonicTime) -> LinkState? {
        guard let link = links[key] else { return nil }
        let snapshot = snapshots[key] ?? LinkSnapshot()
        let worst = chain(key).compactMap { links[$0] }.max { $0.level < $1.level } ?? link
        let isAbove = worst.level > link.level
        var explanation = (isAbove ? worst : link).explanation(now: now)
        if isAbove { explanation.reason = "the uplink \(worst.key.name): \(explanation.reason)" }
        var state = LinkState(key: key, level: level(of: key), explanation)
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
        return state
    }

    /// Why commands of a quality wait for the link; nil where they do not.
    package func waitReason(of qos: QualityOfService, to key: LinkKey, now: MonotonicTime) -> LinkWaitReason? {
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
        if state.level != .offline, let reason = contention(of: qos, verb, key, now: now) { return reason }
        guard state.level == .offline || verb != .run else { return nil }
        // As in the decision: a throttle holds only beside a higher quality.
        if case .throttle = verb, state.level != .offline,
            !hasHigherQuality(than: qos, on: key, snapshots[key] ?? LinkSnapshot()),
            !hasHigherQuality(than: qos, above: key)
        {
            return nil
        }
        return LinkWaitReason(
            sentence: "\(key.name) is \(state.level.name): \(state.reason); \(qos.name) has “\(verb.name)” there",
            since: state.since, remedy: state.remedy)
    }

    /// High quality has the link or its uplink, and the policy's row `contended` is stricter than the level.
    private func contention(
        of qos: QualityOfService, _ verb: PolicyVerb, _ key: LinkKey, now: MonotonicTime
    ) -> LinkWaitReason? {
        guard qos.serviceClass != .high,
            PolicyVerb.stricter(verb, policy.contended[qos]) == policy.contended[qos],
            let contended = chain(key).first(where: { links[$0]?.planner.since != nil }),
            let full = state(of: contended, now: now)
        else { return nil }
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
}
