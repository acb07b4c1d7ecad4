internal import Commands
internal import Host
internal import NetworkControl
internal import Store

/// First tries: a destination that was never tried starts within a second, whatever number of dead ones is tried
/// beside it.
///
/// An attempt at a dead destination holds its slot for as long as a connect or a look-up lasts, 10 to 40 s. Where a
/// destination that holds no slot finds none, the oldest first tries without an answer make way. Nothing is lost with
/// them: no byte was acknowledged. From then on their destinations count as failing, wait as after a failure of the
/// link, and are tried for the whole time of a connect.
extension Dispatcher {
    /// A first try that has no answer after this time makes way.
    private static let maxSilence: Duration = .milliseconds(500)
    private static let yieldInterval: Duration = .milliseconds(100)
    /// First tries that make way at a time, of high QoS and of the others.
    private static let maxYielding = 4
    /// Groups that are looked at, of each class.
    private static let maxLooked = 64

    mutating func yieldFirstTries(now: MonotonicTime) {
        guard now >= yieldsAt else { return }
        yieldsAt = now + Self.yieldInterval
        // First, because it costs least: where dead destinations refuse at once, there are none.
        let silent = silentFirstTries(now: now)
        guard !silent.isEmpty else { return }
        for isHigh in [true, false] {
            let own = silent.filter { ($0.serviceClass == .high) == isHigh }
            guard !own.isEmpty else { continue }
            let isBudgetUsed = admission.probes[isHigh: isHigh].free(slots: slots) == 0
            let classes: [ServiceClass] = isHigh ? [.high] : [.middle, .low]
            let waiting =
                (isBudgetUsed ? queue.untriedCount(isHigh: isHigh) : 0)
                + classes.reduce(0) { $0 + newcomers($1, now: now) }
            if waiting > 0 { yield(waiting, of: own.map(\.id), isHigh: isHigh, now: now) }
        }
    }

    /// First tries that are old enough to make way, the oldest first.
    private func silentFirstTries(now: MonotonicTime) -> [(id: CommandID, serviceClass: ServiceClass)] {
        inFlight.filter { id, entry in
            entry.isFirstTry && entry.offeredAt == nil && now - entry.since >= Self.maxSilence
                && !yielding.contains(id) && links.isUnanswered(id, at: entry.grant.destination)
        }
        .sorted { ($0.value.since, $0.key) < ($1.value.since, $1.key) }
        .map { ($0.key, $0.value.grant.serviceClass) }
    }

    /// Destinations with ready commands of a class that hold no slot and find none.
    private func newcomers(_ serviceClass: ServiceClass, now: MonotonicTime) -> Int {
        guard queue.holds(serviceClass) else { return 0 }
        let host = host(isFull: true, freeExtras: 0, now: now)
        let qos: QualityOfService =
            switch serviceClass {
            case .high: .userInitiated
            case .middle: .default
            case .low: .utility
            }
        return queue.rotatingGroups(serviceClass, Self.maxLooked).count { group in
            guard admission.counts[group.destination].all == 0 else { return false }
            let load = load(ReadyKey(destination: group.destination, qos: qos), now: now)
            let request = Admission.Request(qos: qos, isContested: true)
            guard case .waits(let wait) = Admission.verdict(request, load, host) else { return false }
            return wait.rule == .slots || wait.rule == .maxTransfers
        }
    }

    private mutating func yield(_ count: Int, of silent: [CommandID], isHigh: Bool, now: MonotonicTime) {
        let pending = yielding.count { inFlight[$0]?.grant.isHigh == isHigh }
        let ids = silent.prefix(max(min(count, Self.maxYielding - pending), 0))
        guard !ids.isEmpty else { return }
        yielding.formUnion(ids)
        links.preempt(Array(ids), for: .firstTry, now: now)
    }

    /// A first try has made way.
    mutating func firstTryYielded(_ id: CommandID, to destination: Destination, now: MonotonicTime) {
        admission.failureWaits.failed(id, to: destination, chance: jitter.chance(), now: now)
        links.firstTryYielded(at: destination)
    }
}
