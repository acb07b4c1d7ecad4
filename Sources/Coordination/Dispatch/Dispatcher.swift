package import Commands
internal import NetworkControl
package import Store
package import Wire

/// Offers commands to workers: which command next, and to which worker. ``Admission`` says whether it may start. Pure: knows
/// the ready queue, the seats and their windows, and what is in hand; times are passed in, and what must be done is returned.
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
        var grant: Admission.Grant
        var suspect: Bool
        /// Nil once claimed.
        var offeredAt: Int64?
        /// When it was offered.
        var since: Int64

        var group: ReadyQueue.Group {
            ReadyQueue.Group(destination: grant.destination, serviceClass: grant.serviceClass)
        }
    }

    package let shardCount: Int
    private let minLimit: Int
    /// From which wait on the floor gives a class its slot.
    let floorWait: Duration
    package internal(set) var queue: ReadyQueue
    package internal(set) var seats: [Int: WorkerRecord] = [:]
    package var links: LinkAdmission
    package internal(set) var admission = Admission()
    package private(set) var pauses: [ControlState.Pause] = []
    /// Shards that other processes keep locked, as workers say: nothing of them is offered, or kept in memory.
    package private(set) var locked: Set<Int> = []
    private var inHand: [CommandID: InHand] = [:]
    /// Of destinations that have not answered: what was offered to them to find out.
    private var probing: [Destination: Set<CommandID>] = [:]
    /// What has changed hands in shards whose claims are being read: of these the reports are newer than what was read.
    private var movedSince: [Int: Set<CommandID>] = [:]
    var backlog = BacklogCursors()
    private var schedule = ProbeSchedule()
    /// Destinations whose circuit breaker lets a probe out.
    var dueProbes: Set<Destination> = []
    /// Commands that the store must be asked for: their wait is over, or one of them is to be a probe.
    private var wanted: [CommandID] = []
    /// Destinations with high QoS that waits for a slot which the server or a person limits.
    var blockedHigh: Set<Destination> = []
    /// When the last that ran of a class was sent back to wait, or has ended where a person counts the slots.
    var releasedAt: [ReadyQueue.Group: Int64] = [:]
    /// Transfers whose connection broke, and since when. High QoS may hold a link for long: of four low uploads beside 64 high
    /// ones, one whose connection broke waited for the end of the other three (593 s of 600, measured).
    var reconnecting: [CommandID: (group: ReadyQueue.Group, since: Int64)] = [:]
    /// When the floor is looked for next.
    var floorsAt: Int64 = 0
    private var jitter: Jitter

    /// Ready commands in memory, over all destinations, where these are many.
    private static let maxInMemory = 65_536
    /// An attempt that has neither failed nor been answered by then executes something: it is no probe any more. The connect
    /// timeout is 10 s.
    private static let probeTime: Int64 = 15_000_000_000
    /// How long a server that refused for the number is sent nothing new, in nanoseconds.
    private static let pushbackPause: Int64 = 260_000_000
    /// Probes that become due in one round.
    private static let maxDueProbes = 64

    /// Offers not claimed by then are forgotten, and may go elsewhere.
    package static let timeout: Int64 = 2_000_000_000

    package init(
        shardCount: Int, window: Int = 256, links: LinkAdmission = LinkAdmission(), seed: UInt64 = 0
    ) {
        self.shardCount = shardCount
        self.links = links
        minLimit = window
        floorWait = links.policy.maxStandstill * 5 / 6
        queue = ReadyQueue(
            shardCount: shardCount, limit: window, agingStep: Int64(links.policy.agingStep / .milliseconds(1)))
        jitter = Jitter(seed: seed)
    }

    // MARK: Seats

    package mutating func register(_ record: WorkerRecord) {
        if !record.types.allSatisfy(canRun) { backlog.forgetBarren() }
        seats[record.seat] = record
        queue.wakeAll()
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
            queue.remove(shards: added)
            backlog.remove(shards: added)
            // Workers have refused what they were offered of these shards, or will.
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
            scheduleProbe(of: command.destination)
        }
    }

    /// The store was asked for these, and they are not ready.
    package mutating func notReady(_ ids: [CommandID]) { for id in ids { admission.failureWaits.forget(id) } }

    /// These are not what they were, for instance of another quality; what of them is ready is inserted again.
    package mutating func changed(_ ids: [CommandID]) {
        for id in ids { queue.remove(id) }
    }

    /// Only what some worker can run and commit, and what need not wait after a failure of its link, is kept in memory.
    private func isWanted(_ command: ReadyCommand) -> Bool {
        canRun(command.type) && !locked.contains(command.id.shard(of: shardCount))
            && !admission.failureWaits.holds(command.id)
    }

    /// The sweep found these keys in a shard: whatever no hint told of is read again from its oldest, or from behind what
    /// nobody can run.
    package mutating func found(_ keys: Set<ReadyKey>, shard: Int, now: Int64) {
        guard !locked.contains(shard) else { return }
        let controller = links.controller
        backlog.found(
            keys, shard: shard, isFailing: { controller.isFailing(LinkKey($0, .up)) }, now: now)
    }

    /// What to read now: for every destination and quality of service that runs low.
    ///
    /// In memory is what fills the windows once more, shared by the destinations that have something ready, and at least
    /// 256 of each while they are few: with 256 alone, workers that ran 12,000 a second stood idle in every second report,
    /// because each answer of the store filled a sixth of their windows.
    package mutating func refills() -> [Refill] {
        guard !seats.isEmpty, backlog.hasOpenings else { return [] }
        let windows = seats.values.reduce(0) { $0 + $1.window }
        let keys = max(queue.keyCount, 1)
        queue.limit = max(min(max(minLimit, windows / keys), Self.maxInMemory / keys), 4)
        let limit = queue.limit
        var refills: [Refill] = []
        while let opening = backlog.takeOpening() {
            let key = opening.source.key
            let count = queue.count(of: key)
            // It comes up again when the queue has less of it.
            guard count <= limit / 2 else { continue }
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
        scheduleProbe(of: refill.key.destination)
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
            drop(id, report.event)
            if var hand = inHand[id], hand.offeredAt != nil {
                hand.offeredAt = nil
                inHand[id] = hand
            }
            return
        case .new, .blocked:
            if let hand = inHand[id], hand.offeredAt == nil {
                let group = hand.group
                releasedAt[group] = now
                if report.isReconnecting, hand.grant.serviceClass != .high { reconnecting[id] = (group, now) }
            }
            if report.fault == .link, report.event.destination != .none {
                admission.failureWaits.failed(
                    id, to: report.event.destination, chance: jitter.chance(), now: now)
            }
        case .error, .success, .cancelled, .inDoubt, .tooManyTimes:
            drop(id, report.event)
            admission.failureWaits.forget(id)
            // The next of its class waits again until the floor is its turn.
            if let hand = inHand[id], isCounted(hand.grant.destination) { releasedAt[hand.group] = now }
        }
        links.ended(report, now: now)
        // For a moment nothing new is sent there.
        if report.isPushback { schedule.wake(report.event.destination, at: now + Self.pushbackPause) }
        letGo(id, isAnswered: report.isAnswer || report.event.transition.status == .success, now: now)
        follow(report.event.destination, now: now)
    }

    private mutating func drop(_ id: CommandID, _ event: StatusEvent) {
        guard queue.contains(id) else { return }
        queue.remove(id)
        lowered(ReadyKey(destination: event.destination, qos: event.qos))
    }

    /// Less of the key is in memory.
    mutating func lowered(_ key: ReadyKey) { if queue.count(of: key) <= queue.limit / 2 { backlog.lowered(key) } }

    /// An execution at the destination has ended: probes, waits and what was refused are looked at again.
    private mutating func follow(_ destination: Destination, now: Int64) {
        guard destination != .none else { return }
        for proven in links.takeProven() { prove(proven, now: now) }
        scheduleProbe(of: destination)
    }

    /// The destination has answered, or takes bytes: what waits there may go, and what was offered is no probe any more.
    private mutating func prove(_ destination: Destination, now: Int64) {
        wanted += admission.failureWaits.answered(destination)
        for id in probing.removeValue(forKey: destination) ?? [] { endProbe(id, isAnswered: true, now: now) }
        wake(destination)
    }

    private mutating func endProbe(_ id: CommandID, isAnswered: Bool, now: Int64) {
        guard var hand = inHand[id], hand.grant.probe != nil else { return }
        admission.endProbe(hand.grant, isAnswered: isAnswered, now: now)
        hand.grant.probe = nil
        inHand[id] = hand
    }

    mutating func wake(_ destination: Destination) {
        let held = admission.counts[destination]
        queue.wake(destination) { held[$0] }
    }

    /// Probes that take so long that they execute something give their part of the budget back. Call it now and then.
    package mutating func expireProbes(now: Int64) {
        for (destination, ids) in probing {
            for id in ids {
                guard let hand = inHand[id], now - hand.since <= Self.probeTime else {
                    endProbe(id, isAnswered: false, now: now)
                    probing[destination]?.remove(id)
                    continue
                }
            }
            if probing[destination]?.isEmpty == true { probing[destination] = nil }
        }
    }

    /// Lets the network decide anew.
    package mutating func networkTick(minuteOfDay: Int, now: Int64) {
        links.tick(waiting: queue.takeChanged(), minuteOfDay: minuteOfDay, now: now)
        for destination in links.takeReleased() {
            wake(destination)
            scheduleProbe(of: destination)
        }
        for destination in links.takeProven() { prove(destination, now: now) }
        for key in links.controller.examined {
            if let destination = key.destination { scheduleProbe(of: destination) }
        }
    }

    /// Sets what people have paused: a destination (nil: all) and qualities as bits.
    package mutating func pause(_ pauses: [(destination: Destination?, qualities: UInt8)]) {
        admission.setPauses(pauses)
        queue.wakeAll()
        self.pauses = pauses.map {
            ControlState.Pause(group: $0.destination.map { Offers.group(of: $0) } ?? 0, qualities: $0.qualities)
        }
    }

    // MARK: Probes and waits

    private mutating func scheduleProbe(of destination: Destination) {
        guard destination != .none else { return }
        schedule.set(destination, at: links.nextProbe(of: destination))
    }

    /// Takes in what has become due: probes, and the ends of waits after a failure of the link.
    mutating func takeDue(now: Int64) {
        wanted += admission.failureWaits.takeDue(now: now)
        for destination in schedule.takeWakes(now: now) { wake(destination) }
        for destination in schedule.takeDue(now: now, maxCount: Self.maxDueProbes) {
            if links.isProbeDue(at: destination, now: now) { dueProbes.insert(destination) }
            wake(destination)
            guard !hasReady(destination) else { continue }
            // Only such are there as have failed: the one whose wait ends first is the probe.
            let waiting = admission.failureWaits.waiting(for: destination)
            guard let first = waiting.min() else { continue }
            admission.failureWaits.offered(first)
            wanted.append(first)
        }
        let slots = slots
        queue.wakeForProbe(
            failing: admission.freeProbes(slots: slots, now: now), untried: admission.probes.free(slots: slots))
    }

    /// Commands that the store must be asked for: their wait is over, or one of them is to be a probe.
    package mutating func takeWanted() -> [CommandID] {
        defer { wanted = [] }
        return wanted
    }

    private func hasReady(_ destination: Destination) -> Bool {
        ServiceClass.allCases.contains { queue.count(destination, $0) > 0 }
    }

    /// When ``dispatch(at:now:)`` has something to do; nil while nothing waits for a time.
    package func nextDue(now: Int64) -> Int64? {
        if !wanted.isEmpty { return now }
        return [
            schedule.next, admission.failureWaits.nextDue,
            queue.awaitsProbe ? admission.nextProbe(slots: slots, now: now) : nil,
        ].compactMap { $0 }.min()
    }

    /// Ordinary slots of middle and low QoS in all workers that take commands.
    var slots: Int { seats.values.reduce(0) { $0 + ($1.state.phase == .ready ? $1.concurrency : 0) } }

    /// The claims of a shard are about to be read. - Returns: false where they are being read already.
    package mutating func willReconcile(shard: Int) -> Bool {
        guard movedSince[shard] == nil else { return false }
        movedSince[shard] = []
        return true
    }

    /// They could not be read.
    package mutating func reconcileFailed(shard: Int) { movedSince[shard] = nil }

    /// What the store says is claimed: the truth behind lost reports.
    /// - Returns: what no worker holds any more; the store knows whether it is ready.
    package mutating func reconcile(_ rows: [ClaimedCommand], shard: Int, now: Int64) -> [CommandID] {
        let moved = movedSince.removeValue(forKey: shard) ?? []
        let claimed = Set(rows.map(\.id))
        let count = shardCount
        let lost = letGo(now: now) { id, hand in
            id.shard(of: count) == shard && hand.offeredAt == nil && !claimed.contains(id) && !moved.contains(id)
        }
        for row in rows where inHand[row.id] == nil && !moved.contains(row.id) && seats[row.seat]?.epoch == row.epoch {
            let grant = Admission.Grant(destination: row.destination, serviceClass: row.qos.serviceClass)
            hold(row.id, seat: row.seat, grant: grant, suspect: row.suspect, offeredAt: nil, now: now)
        }
        return lost
    }

    /// Forgets offers that no worker has claimed. - Returns: their ids; the store knows whether they are ready still.
    package mutating func forgotten(now: Int64) -> [CommandID] {
        letGo(now: now) { $1.offeredAt.map { now - $0 > Self.timeout } ?? false }
    }

    /// These are in no worker's hands any more; a probe among them says nothing of its link, and the next may go.
    @discardableResult
    private mutating func letGo(now: Int64, where isMeant: (CommandID, InHand) -> Bool) -> [CommandID] {
        let ids = inHand.filter { isMeant($0.key, $0.value) }.map(\.key)
        for id in ids {
            let destination = inHand[id]?.grant.destination
            if let destination { links.withdrawn(id, from: destination, now: now) }
            letGo(id, isAnswered: false, now: now)
            if let destination { scheduleProbe(of: destination) }
        }
        return ids
    }

    package func holder(of id: CommandID) -> Int? { inHand[id]?.seat }

    /// The command is in an extra slot.
    func holdsExtra(_ id: CommandID) -> Bool { inHand[id]?.grant.isExtra ?? false }

    /// A person, or the server, limits how many commands of all classes run there.
    func isCounted(_ destination: Destination) -> Bool {
        links.policy.destinations[destination]?.maxConcurrency != nil
    }

    // MARK: What is in hand

    mutating func hold(_ id: CommandID, seat: Int, grant: Admission.Grant, suspect: Bool, offeredAt: Int64?, now: Int64)
    {
        inHand[id] = InHand(seat: seat, grant: grant, suspect: suspect, offeredAt: offeredAt, since: now)
        admission.began(grant, now: now)
        if grant.probe != nil { probing[grant.destination, default: []].insert(id) }
        seats[seat]?.holds(grant, by: 1)
        if suspect { seats[seat]?.suspects.insert(id) }
    }

    private mutating func letGo(_ id: CommandID, isAnswered: Bool, now: Int64) {
        guard let hand = inHand.removeValue(forKey: id) else { return }
        admission.ended(hand.grant, isAnswered: isAnswered, now: now)
        if hand.grant.probe != nil {
            probing[hand.grant.destination]?.remove(id)
            if probing[hand.grant.destination]?.isEmpty == true { probing[hand.grant.destination] = nil }
        }
        seats[hand.seat]?.holds(hand.grant, by: -1)
        if hand.suspect { seats[hand.seat]?.suspects.remove(id) }
        // One slot is free there.
        wake(hand.grant.destination)
    }
}
