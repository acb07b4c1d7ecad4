internal import Commands
internal import Host
internal import NetworkControl
internal import Store

/// The JSON form of a link's state, in events (`link/<name>`) and settings (`link.<direction>.<name>`).
package struct LinkReport {
    let name: String
    let members: [JSONValue.Member]
    private let since: Timestamp
    /// With times as numbers.
    private let circuitBreaker: JSONValue

    /// Before what lifts a gate, at the end of its sentence.
    package static let remedy = "; what lifts it: "
    /// In the sentence of a gate that makes slower and lets begin.
    package static let throttles = "has “throttle"

    static func settingKey(_ key: LinkKey) -> String { SettingKey.link(key.direction, key.name) }

    /// Values that the controller's state of the link does not have.
    struct Details {
        /// Set by a person, in bytes per second.
        var maxRate: Int64?
        /// The reason that holds each quality of service back.
        var gates: [QualityOfService: LinkWaitReason] = [:]
        /// The rule of admission that would hold back the next command of each quality of service.
        var waits: [QualityOfService: Admission.Wait] = [:]
        /// Goodput of the last seconds, the oldest first.
        var history: [Double]?
        /// When the level began, where that was before this coordinator started.
        var since: Timestamp?
    }

    /// - Parameter clock: the wall-clock time of an instant of the monotonic clock.
    init(_ state: LinkState, _ details: Details, clock: (MonotonicTime) -> Timestamp) {
        func number(_ value: Double?) -> JSONValue {
            value.map { .integer($0.isFinite ? Int64(min(max($0, 0), 9e18)) : 0) } ?? .null
        }
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        func time(_ value: MonotonicTime?) -> JSONValue { value.map { .string(clock($0).description) } ?? .null }
        func sentence(_ gate: LinkWaitReason) -> String {
            gate.sentence + (gate.since.map { ", since \(clock($0))" } ?? "")
                + (gate.remedy.map { Self.remedy + $0 } ?? "")
        }
        name = state.key.name
        circuitBreaker =
            state.circuitBreaker.map { breaker in
                StoredCircuitBreaker.json(breaker) { $0.map { .integer(clock($0).milliseconds) } ?? .null }
            } ?? .null
        since = details.since ?? clock(state.since)
        var members: [JSONValue.Member] = [
            .init("direction", .string(state.key.direction.rawValue)), .init("level", .string(state.level.name)),
            .init("limit", .integer(Int64(state.limit))), .init("inFlight", .integer(Int64(state.inFlight))),
            .init("highInFlight", .integer(Int64(state.highInFlight))), .init("rate", number(state.rate)),
            .init("goodput", number(state.goodput)), .init("reference", number(state.reference)),
            .init("srtt", state.srtt.map { .number(($0.seconds * 10_000).rounded() / 10) } ?? .null),
            .init("reason", .string(state.reason)), .init("remedy", text(state.remedy)),
            .init("since", .string(since.description)), .init("nextProbe", time(state.nextProbe)),
            .init("forced", .bool(state.isForced)), .init("maxRate", details.maxRate.map { .integer($0) } ?? .null),
            .init(
                "gates",
                .object(QualityOfService.allCases.map { .init($0.name, text(details.gates[$0].map(sentence))) })),
            .init("waits", .object(QualityOfService.allCases.map { .init($0.name, details.waits[$0]?.json ?? .null) })),
            .init("circuitBreaker", state.circuitBreaker.map { StoredCircuitBreaker.json($0, time: time) } ?? .null),
        ]
        if let history = details.history { members.append(.init("history", .array(history.map { number($0) }))) }
        self.members = members
    }

    /// The value of the link's setting, with what the next coordinator should know.
    func setting(_ memory: LinkHistory?) -> String {
        // Times are numbers here, so that the next coordinator needs no parser of dates.
        var members: [JSONValue.Member] = members.compactMap { member in
            switch member.name {
            // The next coordinator starts without held slots.
            case "waits": nil
            case "since": JSONValue.Member("since", .integer(since.milliseconds))
            case "circuitBreaker": JSONValue.Member("circuitBreaker", circuitBreaker)
            default: member
            }
        }
        if let memory {
            members.append(.init("flows", .integer(Int64(memory.flows))))
            // `limit` is the number that may run, which is 0 while the link is offline.
            members.append(.init("measuredLimit", .integer(Int64(memory.limit))))
        }
        members.append(.init("writtenAt", .integer(Timestamp.now.milliseconds)))
        return JSONValue.object(members).text
    }
}

extension Admission.Wait {
    var json: JSONValue {
        func number(_ value: Int?) -> JSONValue { value.map { .integer(Int64($0)) } ?? .null }
        return .object([
            .init("rule", .string(rule.rawValue)), .init("measured", number(measured)), .init("limit", number(limit)),
        ])
    }
}
