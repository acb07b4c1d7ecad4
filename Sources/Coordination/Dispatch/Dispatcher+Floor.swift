internal import Commands
internal import Host
internal import NetworkControl
package import Store
internal import Wire

/// The floor of invariant 7: no class waits for ever behind higher ones.
extension Dispatcher {
    /// Groups that are looked at for the floor at a time, and the time from one look to the next.
    private static let maxFloors = 128
    private static let floorInterval: Duration = .milliseconds(50)
    /// Old entries are removed this often. With 20,000 destinations that fail, a walk at each look took 39 % of the
    /// coordinator's time.
    private static let expiryInterval: Duration = .seconds(5)

    /// Commands that the floor lets go, one of each destination: of a class that has waited too long behind
    /// higher ones, early enough for its first bytes. And transfers whose connection broke beside high QoS,
    /// where the limit of the link has fallen since: they wait no longer either, because the running ones may
    /// not end for hours (one of four stood still for 330 s of 600, measured).
    mutating func floorCandidates(at: Timestamp, now: MonotonicTime) -> [ReadyCommand] {
        guard now >= floorsAt else { return pacedFloors }
        floorsAt = now + Self.floorInterval
        removeExpired(now: now)
        var floors: [Destination: ReadyCommand] = [:]
        if admission.counts.total.high > 0 {
            let longest = links.policy.maxStandstill * 2
            for (id, since) in reconnecting where now - since >= floorWait && now - since < longest {
                guard let command = queue.command(id), !command.suspect, floors[command.destination] == nil else {
                    continue
                }
                floors[command.destination] = command
            }
        }
        pacedFloors = []
        for (group, entries) in queue.oldest(Self.maxFloors) {
            // A command that was cut a moment ago does not come back by the floor.
            guard admission.counts[group.destination, group.serviceClass] == 0,
                releasedAt[group].map({ now - $0 > floorWait }) ?? true,
                floors[group.destination] == nil
            else { continue }
            floors[group.destination] = floor(of: entries, at: at, now: now)
        }
        return floors.values.sorted { $0.id < $1.id }
    }

    private mutating func removeExpired(now: MonotonicTime) {
        guard now >= floorsExpireAt else { return }
        floorsExpireAt = now + Self.expiryInterval
        let longest = links.policy.maxStandstill * 2
        releasedAt = releasedAt.filter { now - $0.value <= floorWait }
        reconnecting = reconnecting.filter { now - $0.value < longest }
    }

    /// The first command that has waited too long and may start. One that lacks a token is noted, and hides no other.
    private mutating func floor(of entries: [ReadyQueue.Entry], at: Timestamp, now: MonotonicTime) -> ReadyCommand? {
        for entry in entries {
            guard queue.age(of: entry, at: at) > floorWait else { return nil }
            let command = entry.command
            guard !rates.isEmpty || command.limit != nil else { return command }
            if rates.pace(ReadyKey(command)) { pacedFloors.append(command) }
            if rates.lacking(for: ReadyKey(command), now: now) == nil { return command }
        }
        return nil
    }

    /// The wall clock has jumped: no command has waited longer for that.
    package mutating func wallClockJumped(_ jump: ClockJumps.Jump) { queue.wallClockJumped(jump) }

    mutating func offerFloor(_ command: ReadyCommand, to candidates: inout [OfferCandidate], now: MonotonicTime) {
        // It may have been dispatched in the ordinary way meanwhile.
        guard queue.contains(command.id), reconnecting[command.id] != nil || !hasOfItsClass(command) else { return }
        let load = load(ReadyKey(command), now: now)
        guard load.availability == .available, rates.lacking(for: ReadyKey(command), now: now) == nil else { return }
        let isPaced = rates.pace(ReadyKey(command))
        let serviceClass = command.qos.serviceClass
        let subQueue = ReadyQueue.SubQueue(command)
        let able = candidates.indices.filter { candidates[$0].accepts(subQueue) }
        let ordinary = able.filter {
            (isPaced ? candidates[$0].pacedRoom(serviceClass) : candidates[$0].room(serviceClass)) > 0
        }
        let overflow = able.filter {
            candidates[$0].freeExtras > 0
                || (isPaced ? candidates[$0].pacedRoom(.high) : candidates[$0].room(.high)) > 0
        }
        guard let index = ordinary.first ?? overflow.first else { return }
        let request = Admission.Request(qos: command.qos, isFloor: true)
        let host = host(isFull: ordinary.isEmpty, freeExtras: overflow.count, now: now)
        guard case .admitted(let slot) = Admission.verdict(request, load, host) else { return }
        queue.remove(command.id)
        offer(command, slot, to: &candidates[index], now: now)
    }

    private func hasOfItsClass(_ command: ReadyCommand) -> Bool {
        admission.counts[command.destination, command.qos.serviceClass] > 0
    }
}
