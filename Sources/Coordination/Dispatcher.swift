package import Commands
internal import NetworkControl
package import Store
package import Wire

/// Decides who is offered what. Pure: knows the ready queue, the seats and their windows, what links allow, and
/// what is in hand; times are passed in, and what must be done is returned.
package struct Dispatcher: Sendable {
    package struct Dispatch: Sendable, Equatable {
        package var seat: Int
        package var epoch: Int64
        package var offers: Offers
    }

    /// A part of the store to read, because the queue of its destination runs low.
    package struct Refill: Sendable, Hashable {
        package var shard: Int
        package var key: ReadyKey
        package var afterTurn: Int64
        package var limit: Int

        var source: BacklogCursors.Source { BacklogCursors.Source(shard: shard, key: key) }
    }

    private struct InHand: Sendable {
        var seat: Int
        var destination: Destination
        var serviceClass: ServiceClass
        var suspect: Bool
        /// Nil once claimed.
        var offeredAt: Int64?
    }

    package let shardCount: Int
    private let smallestLimit: Int
    /// From which wait on the floor gives a class its place.
    let longestWait: Duration
    package internal(set) var queue: ReadyQueue
    package internal(set) var seats: [Int: SeatRecord] = [:]
    package var links: LinkGovernors
    package private(set) var pauses: [ControlState.Pause] = []
    /// Shards that other processes keep locked, as workers say: nothing of them is offered, or kept in memory.
    package private(set) var locked: Set<Int> = []
    private var pausedDestinations: [(destination: Destination?, qualities: UInt8)] = []
    private var inHand: [CommandID: InHand] = [:]
    /// What has changed hands in shards whose claims are being read: of these the reports are newer than what was read.
    private var movedSince: [Int: Set<CommandID>] = [:]
    private var backlog = BacklogCursors()
    private(set) var inFlight = InFlight()
    /// When the last that ran of a class was sent back to wait, or has ended where a person counts the places.
    var releasedAt: [ReadyQueue.Group: Int64] = [:]
    /// Places of transfers whose connection broke, and since when they are free. High quality that has all places cuts
    /// nobody, but leaves a link one: of four low uploads beside 64 high ones, one whose connection broke waited for the end
    /// of the other three (593 s of 600, measured).
    var kept: [CommandID: (group: ReadyQueue.Group, since: Int64)] = [:]

    /// Offers not claimed by then are forgotten, and may go elsewhere.
    package static let patience: Int64 = 2_000_000_000

    package init(shardCount: Int, window: Int = 256, links: LinkGovernors = LinkGovernors()) {
        self.shardCount = shardCount
        self.links = links
        smallestLimit = window
        longestWait = links.policy.longestStandstill * 5 / 6
        queue = ReadyQueue(
            shardCount: shardCount, limit: window, agingStep: Int64(links.policy.agingStep / .milliseconds(1)))
    }

    // MARK: Seats

    package mutating func greet(_ record: SeatRecord) {
        if !record.types.allSatisfy(canRun) { backlog.forgetBarren() }
        seats[record.seat] = record
    }

    package mutating func report(seat: Int, state: WorkerState, coordinator: Int64, now: Int64) {
        seats[seat]?.report(state, coordinator: coordinator, now: now)
    }

    package mutating func waited(_ elapsed: Int64) { for seat in seats.keys { seats[seat]?.waited(elapsed) } }

    /// Takes in which shards are locked. - Returns: those that are free again: the store must be asked what is ready there.
    package mutating func followLocks(now: Int64) -> Set<Int> {
        let before = locked
        locked = seats.values.reduce(into: []) { $0.formUnion($1.state.locked) }
        let added = locked.subtracting(before)
        if !added.isEmpty {
            let count = shardCount
            queue.removeAll { added.contains($0.id.shard(of: count)) }
            backlog.remove(shards: added)
            // Who was offered one of them has refused it, or will.
            letGo(now: now) { $1.offeredAt != nil && added.contains($0.shard(of: count)) }
        }
        return before.subtracting(locked)
    }

    /// The worker is dead or gone. - Returns: what it had been offered and may go elsewhere now.
    package mutating func leave(seat: Int, now: Int64) -> [CommandID] {
        if let epoch = seats[seat]?.epoch { links.workerLost(epoch) }
        seats[seat] = nil
        return letGo(now: now) { $1.seat == seat }
    }

    package func canRun(_ type: String) -> Bool { seats.values.contains { $0.types.contains(type) } }

    // MARK: Ready commands

    /// Puts commands into the queue that a hint or the end of an execution told of.
    package mutating func insert(_ commands: [ReadyCommand], now: Int64) {
        for command in commands where inHand[command.id] == nil && isWanted(command) {
            links.meet(command.destination, now: now)
            if let out = queue.insert(command) { backlog.left(out, shard: out.id.shard(of: shardCount)) }
        }
    }

    /// These are not what they were, for instance of another quality; what of them is ready is inserted again.
    package mutating func changed(_ ids: [CommandID]) {
        for id in ids { queue.remove(id) }
    }

    /// Only what somebody can run and commit, and nobody has paused, is kept in memory.
    private func isWanted(_ command: ReadyCommand) -> Bool {
        canRun(command.type) && !locked.contains(command.id.shard(of: shardCount))
            && !isPaused(ReadyKey(destination: command.destination, qos: command.qos))
    }

    /// The sweep found these keys in a shard: whatever no hint told of is read again from its oldest, or from behind what
    /// nobody can run.
    /// - Parameter due: the first turn of what has become due since; it may stand anywhere.
    package mutating func found(_ keys: Set<ReadyKey>, shard: Int, due: Int64? = nil, now: Int64) {
        guard !locked.contains(shard) else { return }
        backlog.found(keys, shard: shard, due: due, now: now)
    }

    /// What to read now: for every destination and class that runs low.
    ///
    /// In memory is what fills the windows once more, shared by the destinations that have something ready, and at least
    /// 256 for each: with 256 alone, workers that ran 12,000 a second stood idle in every second report, because each
    /// answer of the store filled a sixth of their windows.
    package mutating func refills() -> [Refill] {
        guard !seats.isEmpty else { return [] }
        let windows = seats.values.reduce(0) { $0 + $1.window }
        queue.limit = max(smallestLimit, windows / max(queue.groupCount, 1))
        let limit = queue.limit
        var refills: [Refill] = []
        for opening in backlog.openings where !isPaused(opening.source.key) {
            let key = opening.source.key
            let count = queue.count(key.destination, key.qos.serviceClass)
            // A quality that has nothing here may stand before all that is here.
            guard count <= limit / 2 || queue.count(of: key) == 0 && !opening.wasRefused else { continue }
            // The shards share what is missing; a shard alone may fill it.
            let share = max((limit - count) / min(shardCount, 8), limit / 32, opening.stride, 1)
            refills.append(
                Refill(shard: opening.source.shard, key: key, afterTurn: opening.afterTurn, limit: share))
            backlog.begin(opening.source)
        }
        return refills
    }

    /// What a refill brought.
    package mutating func refilled(_ refill: Refill, _ commands: [ReadyCommand], now: Int64) {
        links.meet(refill.key.destination, now: now)
        guard backlog.contains(refill.source) else { return }
        var through: Int64?
        var isRefused = false
        var out: [ReadyCommand] = []
        for command in commands {
            if inHand[command.id] == nil, isWanted(command), let other = queue.insert(command) {
                isRefused = other.id == command.id
                if isRefused { break }
                out.append(other)
            }
            through = command.turn
        }
        let barren = commands.prefix { !canRun($0.type) }.count
        backlog.end(
            refill.source, afterTurn: refill.afterTurn, rows: commands, barren: barren, through: through,
            isRefused: isRefused, isEnd: commands.count < refill.limit, now: now)
        for command in out { backlog.left(command, shard: command.id.shard(of: shardCount)) }
    }

    /// The read failed; the sweep will try again.
    package mutating func refillFailed(_ refill: Refill) { backlog.fail(refill.source) }

    // MARK: What happens to commands

    /// A transition was committed.
    package mutating func transition(_ report: StatusReport, now: Int64) {
        let id = report.event.transition.id
        if !movedSince.isEmpty { movedSince[id.shard(of: shardCount)]?.insert(id) }
        switch report.event.transition.status {
        case .queued, .sent:
            queue.remove(id)
            if var hand = inHand[id], hand.offeredAt != nil {
                hand.offeredAt = nil
                inHand[id] = hand
            }
            return
        case .new, .blocked:
            if let hand = inHand[id], hand.offeredAt == nil {
                let group = ReadyQueue.Group(destination: hand.destination, serviceClass: hand.serviceClass)
                releasedAt[group] = now
                if report.keepsPlace, hand.serviceClass != .high { kept[id] = (group, now) }
            }
            letGo(id)
        case .error, .success, .cancelled, .inDoubt, .tooManyTimes:
            queue.remove(id)
            // The next of its class waits again until the floor is its turn.
            if let hand = inHand[id], most(of: hand.destination) != nil {
                releasedAt[.init(destination: hand.destination, serviceClass: hand.serviceClass)] = now
            }
            letGo(id)
        }
        links.ended(report, now: now)
    }

    /// Lets the network decide anew. - Returns: whether a quality may go that was held back: the store must be asked for it.
    package mutating func networkTick(minuteOfDay: Int, now: Int64) -> Bool {
        let before = links.heldBack
        links.tick(waiting: queue.waiting, minuteOfDay: minuteOfDay, now: now)
        guard links.heldBack != before else { return false }
        evictPaused()
        let opened = before.subtracting(links.heldBack)
        backlog.restart { opened.contains($0) }
        return !opened.isEmpty
    }

    /// Sets what people have paused: a destination (nil: all) and qualities as bits. What is resumed comes with a sweep.
    package mutating func pause(_ pauses: [(destination: Destination?, qualities: UInt8)]) {
        pausedDestinations = pauses
        evictPaused()
        let dispatcher = self
        backlog.restart { !dispatcher.isPaused($0) }
        self.pauses = pauses.map {
            ControlState.Pause(group: $0.destination.map { Offers.group(of: $0) } ?? 0, qualities: $0.qualities)
        }
    }

    private mutating func evictPaused() {
        let queued = self
        queue.removeAll { queued.isPaused(ReadyKey(destination: $0.destination, qos: $0.qos)) }
    }

    /// The claims of a shard are about to be read. - Returns: false where they are being read already.
    package mutating func willReconcile(shard: Int) -> Bool {
        guard movedSince[shard] == nil else { return false }
        movedSince[shard] = []
        return true
    }

    /// They could not be read.
    package mutating func reconcileFailed(shard: Int) { movedSince[shard] = nil }

    /// What the store says is claimed: the truth behind lost reports.
    /// - Returns: what nobody has any more; the store knows whether it is ready.
    package mutating func reconcile(_ rows: [ClaimedRow], shard: Int, now: Int64) -> [CommandID] {
        let moved = movedSince.removeValue(forKey: shard) ?? []
        let claimed = Set(rows.map(\.id))
        let count = shardCount
        let lost = letGo(now: now) { id, hand in
            id.shard(of: count) == shard && hand.offeredAt == nil && !claimed.contains(id) && !moved.contains(id)
        }
        for row in rows where inHand[row.id] == nil && !moved.contains(row.id) && seats[row.seat]?.epoch == row.epoch {
            hold(
                row.id, seat: row.seat, destination: row.destination, qos: row.qos, suspect: row.suspect, offeredAt: nil
            )
        }
        return lost
    }

    /// Forgets offers that nobody claimed. - Returns: their ids; the store knows whether they are ready still.
    package mutating func forgotten(now: Int64) -> [CommandID] {
        letGo(now: now) { $1.offeredAt.map { now - $0 > Self.patience } ?? false }
    }

    /// Nobody has these in hand any more; a probe among them says nothing of its link, and the next may go.
    @discardableResult
    private mutating func letGo(now: Int64, where isMeant: (CommandID, InHand) -> Bool) -> [CommandID] {
        let ids = inHand.filter { isMeant($0.key, $0.value) }.map(\.key)
        for id in ids {
            if let destination = inHand[id]?.destination { links.withdrawn(id, from: destination, now: now) }
            letGo(id)
        }
        return ids
    }

    package func holder(of id: CommandID) -> Int? { inHand[id]?.seat }

    /// The `maxConcurrency` that a person has set.
    func most(of destination: Destination) -> Int? { links.policy.destinations[destination]?.maxConcurrency }

    // MARK: What is in hand

    /// When a closed link may let its next probe out, while something waits for it.
    package var nextProbe: Int64? { links.nextProbe }

    private func isPaused(_ key: ReadyKey) -> Bool {
        if links.heldBack.contains(key) { return true }
        return pausedDestinations.contains { pause in
            (pause.destination == nil || pause.destination == key.destination)
                && pause.qualities & (1 << UInt8(key.qos.rawValue)) != 0
        }
    }

    mutating func hold(
        _ id: CommandID, seat: Int, destination: Destination, qos: QualityOfService, suspect: Bool, offeredAt: Int64?
    ) {
        inHand[id] = InHand(
            seat: seat, destination: destination, serviceClass: qos.serviceClass, suspect: suspect,
            offeredAt: offeredAt)
        inFlight.count(destination, qos.serviceClass, by: 1)
        if suspect { seats[seat]?.suspects.insert(id) }
    }

    private mutating func letGo(_ id: CommandID) {
        guard let hand = inHand.removeValue(forKey: id) else { return }
        inFlight.count(hand.destination, hand.serviceClass, by: -1)
        if hand.suspect { seats[hand.seat]?.suspects.remove(id) }
    }
}
