internal import Commands
internal import Host
internal import NetworkControl
internal import Store
internal import Wire

/// All ordinary slots are taken: extra slots, and preemption for a higher class.
extension Dispatcher {
    /// Groups of middle QoS that are looked at for slots of low QoS.
    private static let maxLooked = 64

    /// Destinations that hold no slot take extra ones.
    mutating func fillExtras(_ serviceClass: ServiceClass, of candidates: inout [OfferCandidate], now: MonotonicTime) {
        while queue.holds(serviceClass) {
            let able = candidates.indices.filter {
                candidates[$0].freeExtras > 0 && candidates[$0].room(serviceClass) <= 0
            }
            let free = able.reduce(0) { $0 + candidates[$1].freeExtras }
            guard free > 0 else { return }
            let host = host(isFull: true, freeExtras: free, now: now)
            let workers = able.map { candidates[$0] }
            let next = take(serviceClass, host, now: now) { subQueue in workers.contains { $0.accepts(subQueue) } }
            guard let next else { return }
            let subQueue = ReadyQueue.SubQueue(next.command)
            let fit = able.filter { candidates[$0].accepts(subQueue) }
            guard let roomiest = fit.max(by: { candidates[$0].freeExtras < candidates[$1].freeExtras }) else { return }
            offer(next.command, .extra, to: &candidates[roomiest], now: now)
        }
    }

    // MARK: Preemption

    /// Middle QoS that found no slot preempts low QoS until it holds half of the slots. High QoS that the
    /// server or a person limits preempts low QoS at that destination. Preempted commands continue from where
    /// they were, uncharged.
    mutating func preemptForSlots(now: MonotonicTime) {
        preemptForMiddle(now: now)
        for destination in blockedHigh where queue.count(destination, .high) > 0 {
            let more = startable(destination, .high, now: now) - links.controller.pendingCuts(at: destination)
            if more > 0 { preempt(more, at: destination, for: .slotForHigh, now: now) }
        }
    }

    private mutating func preemptForMiddle(now: MonotonicTime) {
        let waiting = queue.holds(.middle) ? queue.rotatingGroups(.middle, Self.maxLooked) : []
        guard !waiting.isEmpty, links.policy.preemptionIsOn else { return }
        var wanted = 0
        let host = host(isFull: true, freeExtras: 0, now: now)
        for group in waiting where wanted < host.slots / 2 {
            let load = load(ReadyKey(destination: group.destination, qos: .default), now: now)
            let request = Admission.Request(qos: .default, isContested: true)
            guard case .waits(let wait) = Admission.verdict(request, load, host), wait.rule == .slots else { continue }
            let room = max(min(load.allowance.limit - load.held.others, host.slots), 0)
            wanted += min(startable(group.destination, .middle, now: now), room)
        }
        let missing = min(wanted, host.slots / 2 - admission.counts.total.middle)
        let more = missing - links.controller.pendingCuts()
        if more > 0 {
            preempt(more, at: nil, for: .slotsForMiddle, now: now)
        }
    }

    /// Commands in memory that would start if they had slots.
    private func startable(_ destination: Destination, _ serviceClass: ServiceClass, now: MonotonicTime) -> Int {
        guard !rates.isEmpty else { return queue.count(destination, serviceClass) }
        return queue.counts(destination, serviceClass).reduce(0) { sum, queue in
            sum + (rates.pace(queue.key) ? min(rates.free(for: queue.key, now: now), queue.value) : queue.value)
        }
    }

    private mutating func preempt(
        _ count: Int, at destination: Destination?, for cause: TransferOrder.Cause, now: MonotonicTime
    ) {
        // A command in an extra slot would free no ordinary one.
        let low = links.controller.preemptible(at: destination).filter { !holdsExtra($0.id) }
        links.preempt(low.prefix(count).map(\.id), for: cause, now: now)
    }
}
