package import Commands
package import Host
package import NetworkControl
internal import Store
package import Wire

/// Offers commands to workers: which command next, and to which worker. ``Admission`` says whether a command
/// may start. Pure: knows the ready queue, the workers and their windows, and the commands in flight.
package struct Dispatcher: Sendable {
    /// Offers to one worker.
    package struct Dispatch: Sendable, Equatable {
        package var seat: Int
        package var epoch: Int64
        package var offers: Offers
    }

    /// Destinations of which one tick tells the controller how many commands wait.
    private static let changesPerTick = 1024

    package let shardCount: Int
    /// Commands kept in memory of each destination and quality of service while there are few of these pairs.
    let minLimit: Int
    /// After this wait the floor gives a class its slot.
    let floorWait: Duration
    package internal(set) var queue: ReadyQueue
    package internal(set) var seats: [Int: WorkerRecord] = [:]
    package var links: LinkAdmission
    package internal(set) var admission = Admission()
    package private(set) var pauses: [ControlState.Pause] = []
    /// Shards that other processes keep locked, as workers say. Their commands are neither offered nor kept
    /// in memory.
    package private(set) var locked: Set<Int> = []
    var backlog = BacklogCursors()
    package internal(set) var rates = RateLimits()
    var jitter: Jitter

    // In flight
    var inFlight: [CommandID: InFlightCommand] = [:]
    /// Of shards whose claims are being read: commands that have moved meanwhile. Their reports are newer
    /// than the rows that were read.
    var movedSince: [Int: Set<CommandID>] = [:]

    // Probes
    /// Commands that were offered to destinations which have not answered, to find out.
    var probing: [Destination: Set<CommandID>] = [:]
    var schedule = ProbeSchedule()
    /// Destinations whose circuit breaker lets a probe out.
    var dueProbes = DueProbes()
    /// Links that are offline and due have the next odd attempt; destinations in memory that fail have it otherwise.
    var probesLinks = false
    /// Destinations of which a command is being read for a probe, and since when.
    var lookedUp: [Destination: MonotonicTime] = [:]
    /// Probes that fell due and were prepared, for measurements.
    package internal(set) var preparedProbes = 0
    /// First tries that were told to make way, and when that is looked at next.
    var yielding: Set<CommandID> = []
    var yieldsAt = MonotonicTime.zero
    /// Commands that must be looked up in the store: their wait is over, or one of them is to be a probe.
    var wanted: [CommandID] = []

    // The floor
    /// Destinations with high QoS that waits for a slot which the server or a person limits.
    var blockedHigh: Set<Destination> = []
    /// When the last running command of a class was sent back to wait, or ended where a person counts the
    /// slots.
    var releasedAt: [ReadyQueue.Group: MonotonicTime] = [:]
    /// Transfers whose connection broke, and when. High QoS may hold a link for long: of four low uploads
    /// beside 64 high ones, one whose connection broke waited for the end of the other three (593 s of 600,
    /// measured).
    var reconnecting: [CommandID: MonotonicTime] = [:]
    /// When the floor is looked for next.
    var floorsAt = MonotonicTime.zero
    /// When ``releasedAt`` and ``reconnecting`` are rid of old entries next.
    var floorsExpireAt = MonotonicTime.zero
    /// The candidates of the last look that wait for a token of a rate limit. It may come before the next look.
    var pacedFloors: [ReadyCommand] = []

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

    // MARK: Workers

    package mutating func workerJoined(_ record: WorkerRecord) {
        if !record.types.allSatisfy(canRun) { backlog.rereadUnrunnable() }
        seats[record.seat] = record
        queue.wakeAll()
    }

    package mutating func report(seat: Int, commitTime: CommitTime) {
        seats[seat]?.commitTime = commitTime.duration
    }

    package mutating func report(seat: Int, state: WorkerState, coordinator: Int64, now: MonotonicTime) {
        seats[seat]?.report(state, coordinator: coordinator, now: now)
    }

    /// - Parameter awake: the coordinator's own waking time since the last call.
    package mutating func advance(awake: Duration) { for seat in seats.keys { seats[seat]?.advance(awake: awake) } }

    package mutating func setFrozen(_ isFrozen: Bool, seat: Int) {
        seats[seat]?.setFrozen(isFrozen)
        queue.wakeAll()
    }

    /// Takes in which shards are locked.
    /// - Returns: shards that are free again: the store must be asked what is ready there.
    package mutating func followLocks(now: MonotonicTime) -> Set<Int> {
        let before = locked
        let count = shardCount
        // A report may name any number.
        var reported: Set<Int> = []
        for record in seats.values { reported.formUnion(record.state.locked) }
        locked = reported.filter { $0 < count }
        let added = locked.subtracting(before)
        if !added.isEmpty {
            queue.remove(shards: added)
            backlog.remove(shards: added)
            // Workers have refused their offers of these shards, or will.
            withdraw(now: now) { $1.offeredAt != nil && added.contains($0.shard(of: count)) }
        }
        return before.subtracting(locked)
    }

    /// The worker is dead or gone.
    /// - Returns: the offers to return.
    package mutating func workerLeft(seat: Int, now: MonotonicTime) -> [CommandID] {
        if let epoch = seats[seat]?.epoch { links.workerLost(epoch) }
        seats[seat] = nil
        return withdraw(now: now) { $1.seat == seat }
    }

    package func canRun(_ type: String) -> Bool { seats.values.contains { $0.types.contains(type) } }

    /// Ordinary slots of middle and low QoS in all workers that take commands.
    var slots: Int { seats.values.reduce(0) { $0 + ($1.takesOffers ? $1.concurrency : 0) } }

    // MARK: People and the network

    /// Sets what people have paused.
    package mutating func pause(_ pauses: [Pause]) {
        let before = admission.pauses
        admission.setPauses(pauses)
        // Each sweep reads them again.
        if admission.pauses != before { queue.wakeAll() }
        self.pauses = pauses.map {
            ControlState.Pause(group: $0.destination.map { Offers.group(of: $0) } ?? 0, qualities: $0.qualityBits)
        }
    }

    /// Lets the network controller decide again.
    package mutating func networkTick(minuteOfDay: Int, now: MonotonicTime) {
        links.tick(waiting: queue.takeChanged(Self.changesPerTick), minuteOfDay: minuteOfDay, now: now)
        for destination in links.takeReleased() {
            wake(destination)
            scheduleProbe(of: destination)
        }
        for destination in links.takeProven() { prove(destination, now: now) }
        for key in links.controller.examined {
            if let destination = key.destination { scheduleProbe(of: destination) }
        }
    }

    /// Asks admission again about the commands to a destination.
    mutating func wake(_ destination: Destination) {
        let held = admission.counts[destination]
        queue.wake(destination) { held[$0] }
    }

    /// The backstop of every wake: asks admission again about destinations that do not fail. Those that fail wait for
    /// attempts, and asking about 20,000 of them in each sweep took a tenth of a second. Call it in each sweep.
    package mutating func wakeLiving() {
        let controller = links.controller
        queue.wakeParked { !controller.isFailing(LinkKey($0, .up)) }
    }

    /// When ``dispatch(at:now:)`` has something to do; nil while nothing waits for a time.
    package func nextDue(now: MonotonicTime) -> MonotonicTime? {
        if !wanted.isEmpty { return now }
        return [
            schedule.nextWake, schedule.next(.destination), admission.failureWaits.nextDue, nextAttempt(now: now),
            queue.awaiting.isEmpty ? nil : queue.awaitedLimits.compactMap { rates.nextToken(of: $0, now: now) }.min(),
        ].compactMap { $0 }.min()
    }
}

extension Dispatcher {
    /// Sets which rate limits exist, see ``RateLimits/set(_:saved:wallTime:now:)``.
    package mutating func setRateLimits(
        _ definitions: [RateLimits.Name: RateLimit], saved: [RateLimits.Name: TokenBucketState] = [:],
        wallTime: Timestamp, now: MonotonicTime
    ) {
        rates.set(definitions, saved: saved, wallTime: wallTime, now: now)
        queue.wakeAll()
    }

    /// The states of rate limits to save now.
    package mutating func rateLimitsToSave(wallTime: Timestamp, now: MonotonicTime) -> [RateLimits.SavedState] {
        let queue = queue
        return rates.statesToSave(
            waiting: { name in
                switch name {
                case .limit(let limit): queue.count(ofLimit: limit)
                case .destination(let destination): queue.waiting(for: destination).values.reduce(0, +)
                }
            }, wallTime: wallTime, now: now)
    }

    /// The slots of this host.
    /// - Parameter isFull: no seat has an ordinary slot free.
    func host(isFull: Bool, freeExtras: Int, now: MonotonicTime) -> Admission.Host {
        let ready = seats.values.filter(\.takesOffers)
        var host = Admission.Host()
        host.slots = ready.reduce(0) { $0 + $1.concurrency }
        host.window = ready.reduce(0) { $0 + $1.window }
        host.workers = ready.count
        host.maxTransfers = links.policy.globalLimit
        host.isFull = isFull
        host.freeExtras = freeExtras
        admission.fill(&host, now: now)
        return host
    }

    /// Which rule would hold back the next command of each quality of service to a destination, as slots are
    /// held now.
    func waits(at destination: Destination, now: MonotonicTime) -> [QualityOfService: AdmissionWait] {
        let ready = seats.values.filter(\.takesOffers)
        guard !ready.isEmpty else { return [:] }
        let freeExtras = ready.reduce(0) { $0 + $1.extraRoom }
        let isFull = ready.allSatisfy { $0.freeSlots(now: now) <= 0 }
        let isFullForHigh = ready.allSatisfy { $0.room(.high, now: now) <= 0 }
        var host = host(isFull: isFull, freeExtras: freeExtras, now: now)
        var waits: [QualityOfService: AdmissionWait] = [:]
        for qos in QualityOfService.allCases {
            let serviceClass = qos.serviceClass
            host.isFull = serviceClass == .high ? isFullForHigh : isFull
            let group = ReadyQueue.Group(destination: destination, serviceClass: serviceClass)
            let request = Admission.Request(qos: qos, isContested: queue.isContested(group))
            let load = load(ReadyKey(destination: destination, qos: qos), now: now)
            if case .waits(let wait) = Admission.verdict(request, load, host) {
                waits[qos] = wait
            } else if rates.lacking(for: ReadyKey(destination: destination, qos: qos), now: now) != nil {
                waits[qos] = AdmissionWait(.starts)
            }
        }
        return waits
    }

    /// Why the commands of a queue cannot start, for the reason of one whose deadline passes; nil where nothing but its turn
    /// is known.
    func cause(ofWait key: ReadyKey, now: MonotonicTime) -> String? {
        let destination = key.destination
        if admission.pauses.covers(destination, key.qos) { return "it was paused" }
        if let outage = links.controller.circuitBreakers[destination]?.outage {
            return "the circuit breaker of \(destination) is open: \(outage.reason)"
        }
        for direction in Direction.allCases {
            guard let breaker = links.controller.links[LinkKey(destination, direction)]?.circuitBreaker,
                !breaker.isClosed
            else { continue }
            return "\(destination) could not be reached" + (breaker.reason?.text.map { ": \($0)" } ?? "")
        }
        let lacking: RateLimits.Name? = rates.isEmpty && key.limit == nil ? nil : rates.lacking(for: key, now: now)
        switch lacking {
        case .limit(let name) where rates.definitions[.limit(name)] == nil:
            return "the rate limit “\(name)” does not exist"
        case .limit(let name): return "it waited for the rate limit “\(name)”"
        case .destination: return "it waited for the starts of \(destination)"
        case nil: return nil
        }
    }
}
