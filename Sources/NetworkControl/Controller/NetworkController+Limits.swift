internal import Commands
internal import Host

/// How many transfers each link may have.
extension NetworkController {
    /// Transfers of middle and low QoS at once: what the controller finds, within what the level allows. An uplink's own
    /// controller decides nothing: its links share what its level allows.
    func limit(of link: LinkController) -> Int {
        if link.level == .offline { return 0 }
        if link.key.destination == nil { return highest(link) }
        return min(link.limit, highest(link))
    }

    /// What all links of an uplink share; nil where it bounds none of them.
    func sharedLimit(of uplink: LinkKey?) -> Int? {
        guard let uplink, let level = links[uplink]?.level, level > .good else { return nil }
        return max(policy[level].limit, 1)
    }

    /// Between two transfers in a slot its worker commits, reports, is offered the next and commits again. Where they are
    /// short, a few more are offered than are to run, so that slots are not empty meanwhile: of 32, 28 were busy with
    /// files of 200 kB that took 0.4 s (measured).
    func ahead(_ key: LinkKey, limit: Int, now: MonotonicTime) -> Int {
        guard let link = links[key], !link.isFixed, !link.pushback.isBarred,
            key.destination.map({ policy.destinations[$0]?.maxConcurrency == nil }) ?? true
        else { return 0 }
        let endings = Double(link.lastTick.completed) / max(link.lastTick.duration.seconds, 0.1)
        return min(Int(endings * Self.turnaround.seconds), limit / 8)
    }
}
