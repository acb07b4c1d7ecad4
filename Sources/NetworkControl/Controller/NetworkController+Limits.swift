internal import Commands

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
