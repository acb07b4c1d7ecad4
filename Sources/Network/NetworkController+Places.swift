internal import Commands

/// How many transfers each link may have.
extension NetworkController {
    /// Max-min shares of what the level of each uplink allows, and of the global limit. A link that is idle keeps its limit
    /// for the moment in which it begins; the next tick counts it.
    /// - Parameter keys: all, in their order.
    mutating func sharePlaces(_ keys: [LinkKey]) {
        // An uplink's own controller decides nothing: its destinations share what its level allows.
        places = links.mapValues {
            $0.level == .offline
                ? 0 : $0.key.destination == nil ? highest($0) : min($0.concurrency.limit, highest($0))
        }
        let active = keys.filter { $0.destination != nil && isActive($0) }
        for key in links.keys where key.destination == nil {
            guard let level = links[key]?.level, level > .good else { continue }
            share(policy[level].limit, among: active.filter { uplink(of: $0) == key })
        }
        ownPlaces = places
        let high = transfers.values.count { $0.sample.qos.serviceClass == .high }
        share(max(policy.globalLimit - high, 1), among: active)
        spare = max(policy.globalLimit - high - active.map(demand).reduce(0, +), 0)
    }

    /// Places of its own that a link has a use for.
    private func demand(of key: LinkKey) -> Int {
        let wanted = waiting[key]?.reduce(0) { $0 + ($1.key.serviceClass == .high ? 0 : $1.value) } ?? 0
        return min(places[key, default: 0], (views[key]?.inFlight ?? 0) + wanted)
    }

    private mutating func share(_ total: Int, among keys: [LinkKey]) {
        let demands = keys.map(demand)
        // Where all get what they ask for, what comes before the next tick may go as well.
        guard demands.reduce(0, +) > total else { return }
        for (key, share) in zip(keys, SlotSharing.shares(of: total, demands: demands)) {
            places[key] = min(places[key, default: 0], max(share, 1))
        }
    }

    /// Between two transfers of a place its worker commits, reports, is offered the next and commits again. Where they are
    /// short, a few more are offered than are to run, so that places are not empty meanwhile: of 32, 28 were busy with
    /// files of 200 kB that took 0.4 s (measured).
    mutating func ahead(_ key: LinkKey, now: Int64) -> Int {
        guard let link = links[key], !link.isFixed, !link.concurrency.isBarred(now: now),
            key.destination.map({ policy.destinations[$0]?.maxConcurrency == nil }) ?? true
        else { return 0 }
        let endings = Double(link.lastTick.completed) / max(link.lastTick.duration, 0.1)
        let more = min(Int(endings * Self.turnaround), places[key, default: 0] / 8, spare)
        spare -= more
        return more
    }
}
