package import Commands

/// A link as the coordinator reports it: the body of a `link/<destination>` event, and the value of the
/// setting `link.up.<destination>` or `link.down.<destination>`. Members that are missing or of another kind
/// are nil.
package struct LinkReading: Sendable, Equatable {
    /// `*` is the host's own uplink, `*name` another.
    package var destination: String
    /// `up` or `down`.
    package var direction = "up"
    /// `good`, `degraded`, `poor`, `offline` or `unknown`.
    package var level: String
    /// Transfers of middle and low quality of service that may run at once.
    package var limit: Int64?
    package var inFlight: Int64?
    /// Transfers of high quality of service, which the limit does not count.
    package var highInFlight: Int64?
    /// Bytes per second: the present goodput, the capacity that was measured before, and the last sample.
    package var goodput: Int64?
    package var reference: Int64?
    package var rate: Int64?
    /// Milliseconds.
    package var srtt: Double?
    /// A sentence with the measure and the threshold.
    package var reason: String?
    /// The measurement at which the level ends; nil where the level holds no command back.
    package var remedy: String?
    package var since: Timestamp?
    package var nextProbe: Timestamp?
    /// A person holds it offline.
    package var isForced = false
    /// The maximum in bytes per second that a person has set.
    package var maxRate: Int64?
    package var at: Timestamp?
    /// Goodput of each of the last seconds, at most 60, the oldest first.
    package var history: [Double] = []
    /// The reason why a quality of service waits, by its name; without those that may start.
    package var gates: [String: String] = [:]
    /// The rule of admission that would hold back the next command of a quality of service, by its name.
    package var waits: [String: Wait] = [:]
    /// Of the destination, on its link up; nil while it is closed.
    package var circuitBreaker: CircuitBreakerReading?

    package init(destination: String, level: String) {
        self.destination = destination
        self.level = level
    }

    /// A rule of admission with its measured value and the limit that the value must be below.
    package struct Wait: Sendable, Equatable {
        /// `pushback`, `fairShare`, `slots` and others; PROTOCOL.md lists them.
        package var rule: String
        package var measured: Int64?
        package var limit: Int64?

        package init(_ rule: String, _ measured: Int64? = nil, of limit: Int64? = nil) {
            self.rule = rule
            self.measured = measured
            self.limit = limit
        }

        /// - Returns: nil for a value without a rule.
        init?(_ value: JSONValue) {
            guard let rule = value["rule"]?.string else { return nil }
            self.init(rule, value["measured"]?.whole, of: value["limit"]?.whole)
        }

        var json: JSONValue {
            func number(_ value: Int64?) -> JSONValue { value.map { .integer($0) } ?? .null }
            return .object([
                .init("rule", .string(rule)), .init("measured", number(measured)), .init("limit", number(limit)),
            ])
        }
    }

    /// Seconds of the history.
    package static let historyLength = 60

    /// - Returns: nil for a body without a level.
    package init?(destination: some StringProtocol, body: JSONValue) {
        guard let level = body["level"]?.string else { return nil }
        self.init(destination: String(destination), level: level)
        direction = body["direction"]?.string ?? direction
        limit = body["limit"]?.whole
        inFlight = body["inFlight"]?.whole
        highInFlight = body["highInFlight"]?.whole
        goodput = body["goodput"]?.whole
        reference = body["reference"]?.whole
        rate = body["rate"]?.whole
        srtt = body["srtt"]?.double
        reason = body["reason"]?.string
        remedy = body["remedy"]?.string
        since = body["since"]?.time
        nextProbe = body["nextProbe"]?.time
        isForced = body["forced"]?.bool ?? false
        maxRate = body["maxRate"]?.whole
        at = body["at"]?.time
        history = (body["history"]?.elements ?? []).suffix(Self.historyLength).map { max($0.double ?? 0, 0) }
        for member in body["gates"]?.members ?? [] { gates[member.name] = member.value.string }
        for member in body["waits"]?.members ?? [] { waits[member.name] = Wait(member.value) }
        circuitBreaker = body["circuitBreaker"].flatMap { CircuitBreakerReading($0) }
    }

    /// For `--json`; every key is always there.
    package var json: JSONValue {
        func number(_ value: Int64?) -> JSONValue { value.map { .integer($0) } ?? .null }
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        return .object([
            .init("destination", .string(destination)), .init("direction", .string(direction)),
            .init("level", .string(level)), .init("limit", number(limit)), .init("inFlight", number(inFlight)),
            .init("highInFlight", number(highInFlight)), .init("goodput", number(goodput)),
            .init("reference", number(reference)), .init("rate", number(rate)),
            .init("srtt", srtt.map { .number($0) } ?? .null), .init("reason", text(reason)),
            .init("remedy", text(remedy)), .init("since", text(since?.description)),
            .init("nextProbe", text(nextProbe?.description)), .init("forced", .bool(isForced)),
            .init("maxRate", number(maxRate)), .init("at", text(at?.description)),
            .init("history", .array(history.map { .integer($0 < 1e18 ? Int64($0.rounded()) : .max) })),
            .init("gates", .object(QualityOfService.allCases.map { .init($0.name, text(gates[$0.name])) })),
            .init("waits", .object(QualityOfService.allCases.map { .init($0.name, waits[$0.name]?.json ?? .null) })),
            .init("circuitBreaker", circuitBreaker?.json ?? .null),
        ])
    }
}

extension JSONValue {
    /// A number without its fraction.
    var whole: Int64? {
        guard let double, double.magnitude < 9e18 else { return nil }
        return integer ?? Int64(double.rounded())
    }

    /// RFC 3339, or Unix milliseconds.
    var time: Timestamp? {
        switch self {
        case .integer(let value): Timestamp(milliseconds: value)
        case .string(let text): Timestamp(rfc3339: text)
        default: nil
        }
    }
}
