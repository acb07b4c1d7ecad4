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

extension LinkReport {
    /// The members of the event and of the setting, without `at`; the history where there is one.
    package var members: [JSONValue.Member] {
        func number(_ value: Int64?) -> JSONValue { value.map { .integer($0) } ?? .null }
        func time(_ value: Timestamp?) -> JSONValue { value.map { .string($0.description) } ?? .null }
        func byQuality(_ value: (QualityOfService) -> JSONValue?) -> JSONValue {
            .object(QualityOfService.allCases.map { .init($0.name, value($0) ?? .null) })
        }
        let members: [JSONValue.Member] = [
            .init("direction", .string(direction.rawValue)), .init("level", .string(level.name)),
            .init("limit", number(limit)), .init("inFlight", number(inFlight)),
            .init("highInFlight", number(highInFlight)), .init("rate", number(rate)),
            .init("goodput", number(goodput)), .init("reference", number(reference)),
            .init("srtt", srtt.map { .number(($0.seconds * 10_000).rounded() / 10) } ?? .null),
            .init("reason", reason?.json ?? .null), .init("change", change?.json ?? .null),
            .init("remedy", remedy?.json ?? .null), .init("since", time(since)), .init("nextProbe", time(nextProbe)),
            .init("forced", .bool(isForced)), .init("maxRate", number(maxRate)),
            .init("gates", byQuality { gates[$0]?.json }), .init("waits", byQuality { waits[$0]?.json }),
            .init("failureWait", failureWait?.json ?? .null), .init("circuitBreaker", circuitBreaker?.json ?? .null),
            .init("refusal", refusal.map { .string($0) } ?? .null),
        ]
        guard !history.isEmpty else { return members }
        return members + [.init("history", .array(history.map { .integer($0 < 1e18 ? Int64($0.rounded()) : .max) }))]
    }

    /// For `--json`; every key is always there.
    package var json: JSONValue {
        .object(
            [.init("destination", .string(destination))] + members
                + (history.isEmpty ? [.init("history", .array([]))] : [])
                + [.init("at", at.map { .string($0.description) } ?? .null)])
    }

    /// Reads the body of an event, or a setting: also one of version 0.1.0, in which reasons are sentences.
    /// - Returns: nil for a body without a level; ``LinkLevel/unknown`` stands for one of a later version.
    package init?(destination: some StringProtocol, body: JSONValue) {
        guard let level = body["level"]?.string else { return nil }
        self.init(destination: String(destination), level: LinkLevel(name: level) ?? .unknown)
        direction = body["direction"]?.string.flatMap { Direction(rawValue: $0) } ?? direction
        limit = body["limit"]?.wholeNumber
        inFlight = body["inFlight"]?.wholeNumber
        highInFlight = body["highInFlight"]?.wholeNumber
        goodput = body["goodput"]?.wholeNumber
        reference = body["reference"]?.wholeNumber
        rate = body["rate"]?.wholeNumber
        srtt = body["srtt"]?.double.flatMap { (0...1e9).contains($0) ? .milliseconds($0) : nil }
        reason = body["reason"].flatMap { LinkReason($0) }
        change = body["change"].flatMap { LinkReason($0) }
        remedy = body["remedy"].flatMap { LinkRemedy($0) }
        since = body["since"]?.timestamp
        nextProbe = body["nextProbe"]?.timestamp
        isForced = body["forced"]?.bool ?? false
        maxRate = body["maxRate"]?.wholeNumber
        at = body["at"]?.timestamp
        history = (body["history"]?.elements ?? []).suffix(Self.historyLength).map { max($0.double ?? 0, 0) }
        for qos in QualityOfService.allCases {
            gates[qos] = body["gates"]?[qos.name].flatMap { LinkWaitReason($0) }
            waits[qos] = body["waits"]?[qos.name].flatMap { AdmissionWait($0) }
        }
        failureWait = body["failureWait"].flatMap { LinkFailureWait($0) }
        circuitBreaker = body["circuitBreaker"].flatMap { CircuitBreakerState($0) }
        refusal = body["refusal"]?.string
    }
}

/// A link as the controller knows it, for a ``LinkReport``.
package struct LinkState: Sendable, Equatable {
    package var key: LinkKey
    package var level: LinkLevel
    /// A person set it offline.
    package var isForced = false
    /// Transfers of middle and low quality that may run at once.
    package var limit = 0
    package var inFlight = 0
    package var highInFlight = 0
    /// Bytes per second in the last interval.
    package var rate = 0.0
    /// Bytes per second that the link carries by ``GoodputEstimator``, and the reference.
    package var goodput: Double?
    package var reference: Double?
    package var srtt: Duration?
    /// The least round trip.
    package var baseRTT: Duration?
    package var reason: LinkReason
    /// Why it has carried another amount within the last minute, where that is not the link itself.
    package var change: LinkReason?
    /// The condition that lifts the level; nil where nothing is held back.
    package var remedy: LinkRemedy?
    /// When the level was entered.
    package var since: MonotonicTime
    package var nextProbe: MonotonicTime?
    /// Of the destination, on the link up; nil while it is closed.
    package var circuitBreaker: CircuitBreakerState<MonotonicTime>?
    /// The newest refusal of the destination, while that has not opened its circuit breaker; on the link up.
    package var refusal: String?

    init(key: LinkKey, level: LinkLevel, reason: LinkReason, since: MonotonicTime) {
        self.key = key
        self.level = level
        self.reason = reason
        self.since = since
    }
}
