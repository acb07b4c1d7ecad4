internal import Commands
internal import Host
internal import NetworkControl
internal import Store

extension Admission {
    /// Fills in the slots in flight, and whether the budget lets a probe go.
    func fill(_ host: inout Host, now: MonotonicTime) {
        host.held = counts.total.others
        host.heldHigh = counts.total.high
        host.linked = counts.linked.others
        host.linkedHigh = counts.linked.high
        let (high, others) = (probes[isHigh: true], probes[isHigh: false])
        host.mayProbe = others.admits(isFailing: true, slots: host.slots, now: now)
        host.mayTryNew = others.admits(isFailing: false, slots: host.slots, now: now)
        host.mayProbeHigh = high.admits(isFailing: true, slots: host.slots, now: now)
        host.mayTryNewHigh = high.admits(isFailing: false, slots: host.slots, now: now)
    }

    /// The bounds for commands of one destination and quality of service.
    func load(_ key: ReadyKey, _ links: borrowing LinkAdmission, now: MonotonicTime) -> Load {
        guard key.destination != .none else {
            var load = Load()
            load.isLinked = false
            load.held = counts[.none]
            load.isPaused = pauses.covers(key.destination, key.qos)
            return load
        }
        var load = links.load(key.destination, key.qos, now: now)
        load.held = counts[key.destination]
        load.isPaused = pauses.covers(key.destination, key.qos)
        if load.allowance.uplinkLimit != nil, let uplink = load.allowance.uplink {
            load.heldByUplink = counts.destinations.reduce(0) {
                $0 + (links.uplink(of: $1.key) == uplink ? $1.value.others : 0)
            }
        }
        return load
    }
}

extension AdmissionWait {
    /// The rule binds every class.
    var isServerLimit: Bool { rule == .maxConcurrency || rule == .pushback }
}
