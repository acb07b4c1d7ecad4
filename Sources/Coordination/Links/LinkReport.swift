internal import Commands
internal import Host
internal import NetworkControl
internal import Store

/// A link in the words of events and settings: `link/<name>` and `link.<direction>.<name>`.
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

    /// - Parameters:
    ///   - gates: what holds each quality back; nil where nothing does.
    ///   - waits: which rule of admission would hold back the next command of each quality.
    ///   - history: goodput of the last seconds, the oldest first.
    ///   - since: since when the level is what it is, where that is longer than this coordinator knows.
    ///   - clock: what the wall clock says at an instant of the monotonic one.
    init(
        _ state: LinkState, gates: [QualityOfService: LinkWaitReason],
        waits: [QualityOfService: Admission.Wait] = [:], maxRate: Int64?, history: [Double]? = nil,
        since: Timestamp? = nil, clock: (Int64) -> Timestamp
    ) {
        func number(_ value: Double?) -> JSONValue {
            value.map { .integer($0.isFinite ? Int64(min(max($0, 0), 9e18)) : 0) } ?? .null
        }
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        func time(_ value: Int64?) -> JSONValue { value.map { .string(clock($0).description) } ?? .null }
        func sentence(_ gate: LinkWaitReason) -> String {
            gate.sentence + (gate.since.map { ", since \(clock($0.nanoseconds))" } ?? "")
                + (gate.remedy.map { Self.remedy + $0 } ?? "")
        }
        name = state.key.name
        circuitBreaker =
            state.circuitBreaker.map { breaker in
                StoredCircuitBreaker.json(breaker) { $0.map { .integer(clock($0).milliseconds) } ?? .null }
            } ?? .null
        self.since = since ?? clock(state.since.nanoseconds)
        var members: [JSONValue.Member] = [
            .init("direction", .string(state.key.direction.rawValue)), .init("level", .string(state.level.name)),
            .init("limit", .integer(Int64(state.limit))), .init("inFlight", .integer(Int64(state.inFlight))),
            .init("highInFlight", .integer(Int64(state.highInFlight))), .init("rate", number(state.rate)),
            .init("goodput", number(state.goodput)), .init("reference", number(state.reference)),
            .init("srtt", state.srtt.map { .number(($0.seconds * 10_000).rounded() / 10) } ?? .null),
            .init("reason", .string(state.reason)), .init("remedy", text(state.remedy)),
            .init("since", .string(self.since.description)), .init("nextProbe", time(state.nextProbe?.nanoseconds)),
            .init("forced", .bool(state.isForced)), .init("maxRate", maxRate.map { .integer($0) } ?? .null),
            .init(
                "gates", .object(QualityOfService.allCases.map { .init($0.name, text(gates[$0].map(sentence))) })),
            .init("waits", .object(QualityOfService.allCases.map { .init($0.name, waits[$0]?.json ?? .null) })),
            .init("circuitBreaker", state.circuitBreaker.map { StoredCircuitBreaker.json($0, time: time) } ?? .null),
        ]
        if let history { members.append(.init("history", .array(history.map { number($0) }))) }
        self.members = members
    }

    /// As a setting, with what the next coordinator should know of the link.
    func setting(_ memory: LinkHistory?) -> String {
        // A number is what the next coordinator reads back without a parser of dates.
        var members: [JSONValue.Member] = members.compactMap { member in
            switch member.name {
            // Slots that are held now say nothing to the next coordinator.
            case "waits": nil
            case "since": JSONValue.Member("since", .integer(since.milliseconds))
            case "circuitBreaker": JSONValue.Member("circuitBreaker", circuitBreaker)
            default: member
            }
        }
        if let memory {
            members.append(.init("flows", .integer(Int64(memory.flows))))
            // The limit that was measured; `limit` is what is let run, 0 while it is offline.
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
