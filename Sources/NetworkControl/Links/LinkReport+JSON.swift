package import Commands

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
