package import Commands
package import Host
package import Wire

/// The coordinator's record of a registered worker. Pure.
package struct WorkerRecord: Sendable {
    package let seat: Int
    package let epoch: Int64
    package let pid: Int32
    package let concurrency: Int
    package let types: Set<String>
    /// Nil: release 0.1.0, which does not send it.
    package let program: Program?
    package private(set) var state = WorkerState()
    /// Number of the last offer that was sent.
    package private(set) var sent: Int64 = 0
    private var sentAt = MonotonicTime.zero
    /// Recent completions per second.
    private var rate = 0.0
    private var measured: (at: MonotonicTime, completed: Int64)?
    /// As the worker reports it.
    package var commitTime = Duration.zero
    /// The coordinator's own waking time since the worker's loop last made progress.
    package private(set) var stillFor = Duration.zero
    /// Its control group is frozen: it takes no offer, and the time does not count as a hang.
    package private(set) var isFrozen = false
    /// Suspects among its commands in flight.
    package var suspects: Set<CommandID> = []
    /// Slots of high QoS and extra slots that its commands in flight hold.
    private var high = 0
    private(set) var extras = 0
    /// Commands in flight that a rate limit holds for: of high QoS, and of middle and low QoS.
    private var paced = (high: 0, others: 0)

    /// An offer that a worker has not seen after this time is lost.
    private static let timeout: Duration = .seconds(2)
    package static let maxWindow = 2048
    /// Completions of this time, in seconds, fill a window.
    private static let minWindowTime = 0.05
    private static let maxWindowTime = 1.0
    /// Suspects that a worker is offered at a time. It runs them one after the other and need not ask for
    /// each.
    package static let maxSuspects = 8

    package init(seat: Int, epoch: Int64, hello: Hello, program: Program? = nil) {
        self.seat = seat
        self.epoch = epoch
        pid = hello.pid
        concurrency = max(hello.concurrency, 1)
        types = Set(hello.types)
        self.program = program
    }

    package var takesOffers: Bool { state.phase == .ready && !isFrozen }

    /// Unfinished offers that the worker may hold: its recent completions of 50 ms, or of four commits where
    /// these last longer, up to a second; at least its concurrency.
    ///
    /// A command takes two commits. With a window of just that time the rate could never rise: a worker whose
    /// commits last 100 ms would finish as many commands in each as it has slots.
    package var window: Int {
        let time = min(max(4 * commitTime.seconds, Self.minWindowTime), Self.maxWindowTime)
        // A report may state any number of completions, and the product need not fit an integer.
        return max(Int(min(rate * time, Double(Self.maxWindow))), min(concurrency, Self.maxWindow))
    }

    /// Offers that the worker may still have to finish.
    package func unfinished(now: MonotonicTime) -> Int {
        let seen = now - sentAt > Self.timeout ? min(state.seen, sent) : sent
        return Int(max(seen - state.resolved, 0))
    }

    /// Offers that the worker can take now: of middle and low QoS as many as fill its window, and of high QoS
    /// as many again as it has slots.
    package func room(_ serviceClass: ServiceClass, now: MonotonicTime) -> Int {
        guard takesOffers else { return 0 }
        let both = window + concurrency - max(unfinished(now: now) - extras, 0)
        return serviceClass == .high ? both : min(window - others(now: now), both)
    }

    /// Slots of middle and low QoS that are free.
    package func freeSlots(now: MonotonicTime) -> Int {
        takesOffers ? concurrency - others(now: now) : 0
    }

    /// Slots that are free where only commands with rate limits count. Such commands go into slots and not ahead of
    /// them, so that they start when their tokens come. But where short commands without a limit fill the window, a
    /// slot is free in a moment, and no command with a limit would ever find one free now.
    func freePacedSlots(_ serviceClass: ServiceClass) -> Int {
        concurrency - (serviceClass == .high ? paced.high : paced.others)
    }

    private func others(now: MonotonicTime) -> Int { max(unfinished(now: now) - extras - high, 0) }

    /// Extra slots that are free.
    package var extraRoom: Int { takesOffers ? max(Admission.extraSlots - extras, 0) : 0 }

    /// A command in flight takes a slot (`step` is 1) or leaves it (-1).
    mutating func countSlots(of grant: Admission.Grant, by step: Int) {
        if grant.isPaced, !grant.isExtra {
            if grant.serviceClass == .high { paced.high += step } else { paced.others += step }
        }
        if grant.isExtra { extras += step } else if grant.serviceClass == .high { high += step }
    }

    package mutating func offered(_ count: Int, now: MonotonicTime) -> Int64 {
        defer {
            sent += Int64(count)
            sentAt = now
        }
        return sent + 1
    }

    /// - Parameter coordinator: the epoch of this coordinator. Counts that the worker made for another one do
    ///   not apply.
    package mutating func report(_ state: WorkerState, coordinator: Int64, now: MonotonicTime) {
        if state.progress != self.state.progress { stillFor = .zero }
        var state = state
        if state.coordinator != coordinator {
            state.seen = 0
            state.resolved = 0
        }
        self.state = state
        guard let measured else {
            self.measured = (now, state.completed)
            return
        }
        let elapsed = (now - measured.at).seconds
        guard elapsed >= 0.05 else { return }
        let recent = Double(state.completed - measured.completed) / elapsed
        // Up at once, down within a second: a pause of the disk does not mean that the work has ended.
        rate = recent > rate ? recent : rate + (recent - rate) * min(elapsed, 1)
        self.measured = (now, state.completed)
    }

    /// - Parameter awake: the coordinator's own waking time since the last call.
    package mutating func advance(awake: Duration) { if !isFrozen { stillFor += awake } }

    /// A worker that is thawed has the whole time of a hang to make progress.
    package mutating func setFrozen(_ isFrozen: Bool) {
        self.isFrozen = isFrozen
        stillFor = .zero
    }
}

extension WorkerRecord {
    var phaseName: String { isFrozen ? "frozen" : state.phase == .ready ? "ready" : "draining" }
}
