package import Commands
package import Host
internal import NetworkControl
package import Store
package import Wire

/// Commands in flight: offered to a worker or executed by it.
extension Dispatcher {
    /// How long a server that refused because of the number of commands is sent nothing new.
    private static let pushbackPause: Duration = .milliseconds(260)

    /// Offers that are not claimed after this time are withdrawn, and may go elsewhere.
    package static let timeout: Duration = .seconds(2)

    // MARK: Transitions

    /// A transition was committed.
    package mutating func transition(_ report: StatusReport, now: MonotonicTime) {
        let id = report.event.transition.id
        confirmTokens(of: id, now: now)
        if !movedSince.isEmpty { movedSince[id.shard(of: shardCount)]?.insert(id) }
        switch report.event.transition.status {
        case .queued, .sent:
            drop(id)
            if var entry = inFlight[id], entry.offeredAt != nil {
                entry.offeredAt = nil
                inFlight[id] = entry
            }
            return
        case .new, .blocked:
            if yielding.contains(id), report.fault == nil {
                firstTryYielded(id, to: report.event.destination, now: now)
            }
            if let entry = inFlight[id], entry.offeredAt == nil {
                releasedAt[entry.group] = now
                // A probe or a first try that failed had no connection.
                if report.isReconnecting, entry.grant.serviceClass != .high, entry.grant.probe == nil {
                    reconnecting[id] = now
                }
            }
            if report.fault == .link, report.event.destination != .none {
                admission.failureWaits.failed(
                    id, to: report.event.destination, offset: links.controller.durableOffset(of: id),
                    chance: jitter.chance(), now: now)
            }
        case .error, .success, .cancelled, .inDoubt, .tooManyTimes:
            drop(id)
            admission.failureWaits.forget(id)
            // The next of its class waits again until the floor is its turn.
            if let entry = inFlight[id], isCounted(entry.grant.destination) { releasedAt[entry.group] = now }
        }
        links.ended(report, now: now)
        if report.isPushback { schedule.wake(report.event.destination, at: now + Self.pushbackPause) }
        removeInFlight(id, isAnswered: report.isAnswer || report.event.transition.status == .success, now: now)
        executionEnded(at: report.event.destination, now: now)
    }

    private mutating func drop(_ id: CommandID) {
        guard let key = queue.key(of: id) else { return }
        queue.remove(id)
        lowered(key)
    }

    private mutating func executionEnded(at destination: Destination, now: MonotonicTime) {
        guard destination != .none else { return }
        for proven in links.takeProven() { prove(proven, now: now) }
        scheduleProbe(of: destination)
    }

    // MARK: Claims in the store

    /// The claims of a shard are about to be read.
    /// - Returns: false where they are being read already.
    package mutating func willReconcile(shard: Int) -> Bool {
        guard movedSince[shard] == nil else { return false }
        movedSince[shard] = []
        return true
    }

    /// The claims could not be read.
    package mutating func reconcileFailed(shard: Int) { movedSince[shard] = nil }

    /// Takes in the claims of a shard: the truth behind lost reports.
    /// - Returns: commands that no worker holds any more; the store knows whether they are ready.
    package mutating func reconcile(_ rows: [ClaimedCommand], shard: Int, now: MonotonicTime) -> [CommandID] {
        let moved = movedSince.removeValue(forKey: shard) ?? []
        let claimed = Set(rows.map(\.id))
        let count = shardCount
        let lost = withdraw(now: now) { id, entry in
            id.shard(of: count) == shard && entry.offeredAt == nil && !claimed.contains(id) && !moved.contains(id)
        }
        for row in rows where inFlight[row.id] == nil && !moved.contains(row.id) && seats[row.seat]?.epoch == row.epoch
        {
            var grant = Admission.Grant(destination: row.destination, serviceClass: row.qos.serviceClass)
            grant.isPaced = rates.pace(ReadyKey(destination: row.destination, qos: row.qos, limit: row.limit))
            rates.wasClaimed(row.id, now: now)
            addInFlight(
                row.id,
                InFlightCommand(
                    seat: row.seat, grant: grant, suspect: row.suspect, offeredAt: nil, since: now, limit: row.limit),
                now: now)
        }
        return lost
    }

    // MARK: Adding and removing

    mutating func addInFlight(_ id: CommandID, _ entry: InFlightCommand, now: MonotonicTime) {
        inFlight[id] = entry
        if let limit = entry.limit { rates.began(limit) }
        admission.began(entry.grant, now: now)
        if entry.grant.probe != nil { probing[entry.grant.destination, default: []].insert(id) }
        seats[entry.seat]?.countSlots(of: entry.grant, by: 1)
        if entry.suspect { seats[entry.seat]?.suspects.insert(id) }
    }

    /// Withdraws offers that no worker has claimed in time.
    /// - Returns: their ids; the store knows whether they are still ready.
    package mutating func withdrawUnclaimed(now: MonotonicTime) -> [CommandID] {
        withdraw(now: now) { $1.offeredAt.map { now - $0 > Self.timeout } ?? false }
    }

    /// No worker holds these any more. A probe among them says nothing about its link, and the next one may
    /// go.
    @discardableResult
    mutating func withdraw(now: MonotonicTime, where isMeant: (CommandID, InFlightCommand) -> Bool) -> [CommandID] {
        let ids = inFlight.filter { isMeant($0.key, $0.value) }.map(\.key)
        for id in ids {
            let destination = inFlight[id]?.grant.destination
            if let destination { links.withdrawn(id, from: destination, now: now) }
            if let tokens = inFlight[id]?.tokens, !tokens.isEmpty { rates.forgot(id, tokens, now: now) }
            removeInFlight(id, isAnswered: false, now: now)
            if let destination { scheduleProbe(of: destination) }
        }
        return ids
    }

    private mutating func removeInFlight(_ id: CommandID, isAnswered: Bool, now: MonotonicTime) {
        yielding.remove(id)
        guard let entry = inFlight.removeValue(forKey: id) else { return }
        admission.ended(entry.grant, isAnswered: isAnswered, now: now)
        if let limit = entry.limit { rates.ended(limit) }
        if entry.grant.probe != nil { removeProbe(id, of: entry.grant.destination) }
        seats[entry.seat]?.countSlots(of: entry.grant, by: -1)
        if entry.suspect { seats[entry.seat]?.suspects.remove(id) }
        // One slot is free there.
        wake(entry.grant.destination)
    }

    /// A worker has claimed the command: its tokens do not come back.
    private mutating func confirmTokens(of id: CommandID, now: MonotonicTime) {
        if rates.isEmpty { return }
        rates.wasClaimed(id, now: now)
        guard var entry = inFlight[id], !entry.tokens.isEmpty else { return }
        rates.confirm(entry.tokens, now: now)
        entry.tokens = []
        inFlight[id] = entry
    }

    // MARK: Looking

    package func holder(of id: CommandID) -> Int? { inFlight[id]?.seat }

    /// The command is in an extra slot.
    func holdsExtra(_ id: CommandID) -> Bool { inFlight[id]?.grant.isExtra ?? false }

    /// A person limits how many commands of all classes run there.
    func isCounted(_ destination: Destination) -> Bool {
        links.policy.destinations[destination]?.maxConcurrency != nil
    }
}

/// A command that a worker was offered or executes.
struct InFlightCommand: Sendable {
    var seat: Int
    var grant: Admission.Grant
    /// Of a crash of its worker.
    var suspect: Bool
    /// Nil once a worker has claimed it.
    var offeredAt: MonotonicTime?
    /// When it was offered.
    var since: MonotonicTime
    /// Its destination was never tried when it was offered.
    var isFirstTry = false
    /// The name of its rate limit.
    var limit: String?
    /// The limits that gave a token for this offer. Empty once the offer is claimed.
    var tokens: [RateLimits.Name] = []

    var group: ReadyQueue.Group {
        ReadyQueue.Group(destination: grant.destination, serviceClass: grant.serviceClass)
    }
}
