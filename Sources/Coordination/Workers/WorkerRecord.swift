package import Commands
package import Wire

/// What the coordinator knows of a worker in its seat. Pure.
package struct WorkerRecord: Sendable {
    package let seat: Int
    package let epoch: Int64
    package let pid: Int32
    package let concurrency: Int
    package let types: Set<String>
    package private(set) var state = WorkerState()
    /// Number of the last offer sent.
    package private(set) var sent: Int64 = 0
    private var sentAt: Int64 = 0
    private var rate = 0.0
    private var measured: (at: Int64, completed: Int64)?
    /// Waking time of the coordinator since the worker's loop last moved, in nanoseconds.
    package private(set) var stillFor: Int64 = 0
    /// Suspects that it was offered and has not ended.
    package var suspects: Set<CommandID> = []
    /// Slots of high QoS, and extra ones, that commands in its hands take up.
    private var high = 0
    private(set) var extras = 0

    /// An offer that a worker has not seen by then is lost.
    private static let timeout: Int64 = 2_000_000_000
    package static let largestWindow = 2048
    /// Suspects offered to a worker, which runs them one after the other and need not ask for each.
    package static let maxSuspects = 8

    package init(seat: Int, epoch: Int64, hello: Hello) {
        self.seat = seat
        self.epoch = epoch
        pid = hello.pid
        concurrency = max(hello.concurrency, 1)
        types = Set(hello.types)
    }

    /// Unfinished offers that it may hold: 50 ms of its recent completions, at least its concurrency.
    package var window: Int { min(max(Int(rate * 0.05), concurrency), Self.largestWindow) }

    /// Offers that it may still have to finish.
    package func unfinished(now: Int64) -> Int {
        let seen = now - sentAt > Self.timeout ? min(state.seen, sent) : sent
        return Int(max(seen - state.resolved, 0))
    }

    /// Offers that it can be given now: of middle and low QoS as many as fill its window, of high QoS as many as it has slots
    /// besides.
    package func room(_ serviceClass: ServiceClass, now: Int64) -> Int {
        guard state.phase == .ready else { return 0 }
        let both = window + concurrency - max(unfinished(now: now) - extras, 0)
        return serviceClass == .high ? both : min(window - others(now: now), both)
    }

    /// Slots of middle and low QoS that are free.
    package func freeSlots(now: Int64) -> Int { state.phase == .ready ? concurrency - others(now: now) : 0 }

    private func others(now: Int64) -> Int { max(unfinished(now: now) - extras - high, 0) }

    /// Extra slots that are free.
    package var extraRoom: Int { state.phase == .ready ? max(Admission.extraSlots - extras, 0) : 0 }

    /// A command in its hands takes a slot, or leaves it.
    mutating func holds(_ grant: Admission.Grant, by step: Int) {
        if grant.isExtra { extras += step } else if grant.serviceClass == .high { high += step }
    }

    package mutating func offered(_ count: Int, now: Int64) -> Int64 {
        defer {
            sent += Int64(count)
            sentAt = now
        }
        return sent + 1
    }

    /// - Parameter coordinator: this incarnation; counts of another are not this one's.
    package mutating func report(_ state: WorkerState, coordinator: Int64, now: Int64) {
        if state.progress != self.state.progress { stillFor = 0 }
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
        let elapsed = now - measured.at
        guard elapsed >= 50_000_000 else { return }
        let recent = Double(state.completed - measured.completed) / (Double(elapsed) / 1e9)
        // Up at once, down within a second: a pause of the disk is not the end of the work.
        rate = recent > rate ? recent : rate + (recent - rate) * min(Double(elapsed) / 1e9, 1)
        self.measured = (now, state.completed)
    }

    /// - Parameter elapsed: the coordinator's own waking time since the last call.
    package mutating func waited(_ elapsed: Int64) { stillFor += elapsed }
}
