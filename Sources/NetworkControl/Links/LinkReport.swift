package import Commands
package import Host

/// A link as the coordinator reports it: the body of a `link/<destination>` event, and the value of the
/// setting `link.up.<destination>` or `link.down.<destination>`. Members that are missing or of another kind
/// are nil.
package struct LinkReport: Sendable, Equatable {
    /// The name of the link (``LinkKey/name``): a destination, `*` for the host's own uplink, `*name` for
    /// another.
    package var destination: String
    package var direction = Direction.up
    package var level: LinkLevel
    /// Transfers of middle and low quality of service that may run at once.
    package var limit: Int64?
    package var inFlight: Int64?
    /// Transfers of high quality of service, which the limit does not count.
    package var highInFlight: Int64?
    /// Bytes per second: the present goodput, the capacity that was measured before, and the last sample.
    package var goodput: Int64?
    package var reference: Int64?
    package var rate: Int64?
    /// In milliseconds with one decimal as JSON.
    package var srtt: Duration?
    package var reason: LinkReason?
    /// Why it has carried another amount within the last minute, where that is not the link itself.
    package var change: LinkReason?
    /// The condition that lifts the level; nil where it holds no command back.
    package var remedy: LinkRemedy?
    package var since: Timestamp?
    package var nextProbe: Timestamp?
    /// A person holds it offline.
    package var isForced = false
    /// The maximum in bytes per second that a person has set.
    package var maxRate: Int64?
    package var at: Timestamp?
    /// Goodput of each of the last seconds, at most ``historyLength``, the oldest first.
    package var history: [Double] = []
    /// Why a quality of service waits, or is slowed down.
    package var gates: [QualityOfService: LinkWaitReason<Timestamp>] = [:]
    /// The rule of admission that would hold back the next command of a quality of service.
    package var waits: [QualityOfService: AdmissionWait] = [:]
    /// The waits of commands that a failure of the link has released, on a link up to a destination.
    package var failureWait: LinkFailureWait?
    /// Of the destination, on its link up; nil while it is closed.
    package var circuitBreaker: CircuitBreakerState<Timestamp>?
    /// The newest refusal of the destination, while that has not opened its circuit breaker; on its link up.
    package var refusal: String?

    /// Seconds of the history.
    package static let historyLength = 60

    package init(destination: String, level: LinkLevel) {
        self.destination = destination
        self.level = level
    }

    /// - Parameter clock: the wall-clock time of an instant of the monotonic clock.
    package init(_ state: LinkState, clock: (MonotonicTime) -> Timestamp) {
        func whole(_ value: Double) -> Int64 { value.isFinite ? Int64(min(max(value, 0), 9e18)) : 0 }
        self.init(destination: state.key.name, level: state.level)
        direction = state.key.direction
        limit = Int64(state.limit)
        inFlight = Int64(state.inFlight)
        highInFlight = Int64(state.highInFlight)
        goodput = state.goodput.map(whole)
        reference = state.reference.map(whole)
        rate = whole(state.rate)
        srtt = state.srtt
        reason = state.reason
        change = state.change
        remedy = state.remedy
        since = clock(state.since)
        nextProbe = state.nextProbe.map(clock)
        isForced = state.isForced
        circuitBreaker = state.circuitBreaker?.map(clock)
        refusal = state.refusal
    }
}
