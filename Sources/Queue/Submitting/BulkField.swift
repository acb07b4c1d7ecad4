package import Commands
internal import Console
package import Operations

/// The members of a line of bulk other than its payload, which are also the options of a flow and of a node.
package enum BulkField {
    /// All of them.
    package static let names = [
        "qos", "idempotent", "uniqueKey", "uniqueFor", "retryLimit", "notBefore", "deadline", "destination", "after",
        "orderingKey", "keyLimit", "keyFailure", "batch", "limit",
    ]

    /// - Throws: ``PayloadError`` `data` that names the member.
    package static func read(
        _ member: JSONValue.Member, into options: inout SubmitOptions
    ) throws(PayloadError) {
        switch (member.name, member.value.integral) {
        case ("qos", .string(let name)):
            guard let qos = QualityOfService(name: name) else {
                let known = QualityOfService.allCases.map(\.name).joined(separator: ", ")
                throw PayloadError(.data, "“qos” is “\(name)” and must be one of \(known)")
            }
            options.qos = qos
        case ("idempotent", .bool(let value)): options.idempotent = value
        case ("uniqueKey", .string(let key)):
            guard !key.isEmpty else { throw PayloadError(.data, "“uniqueKey” is empty") }
            options.uniqueKey = key
        case ("uniqueFor", .string(let text)):
            guard let period = UniquePeriod(text: text) else {
                throw PayloadError(.data, "“uniqueFor” is “\(text)” and must be \(UniquePeriod.forms)")
            }
            options.uniqueFor = period
        case ("retryLimit", .integer(let limit)): options.retryLimit = Int(limit)
        case ("notBefore", .string(let text)): options.notBefore = try time(text, of: member.name)
        case ("deadline", .string(let text)): options.deadline = try time(text, of: member.name)
        case ("destination", .string(let text)):
            guard let destination = Destination(text) else {
                throw PayloadError(.data, "“destination” is “\(text)”, which is not a URL")
            }
            options.destination = destination
        case ("orderingKey", .string(let key)):
            guard !key.isEmpty else { throw PayloadError(.data, "“orderingKey” is empty") }
            options.orderingKey = key
        case ("keyLimit", .integer(let limit)):
            guard (1...1000).contains(limit) else { throw PayloadError(.data, "“keyLimit” must be from 1 to 1,000") }
            options.keyLimit = Int(limit)
        case ("keyLimit", _):
            throw PayloadError(.data, "“keyLimit” must be a whole number, not \(member.value.kind)")
        case ("keyFailure", .string(let text)):
            guard let value = OrderingKeyFailure(rawValue: text) else {
                throw PayloadError(.data, "“keyFailure” is “\(text)” and must be \(OrderingKeyFailure.forms)")
            }
            options.keyFailure = value
        case ("batch", .string(let text)):
            guard let id = CommandID(text) else {
                throw PayloadError(.data, "“batch” is “\(text)”, which is not a UUID")
            }
            options.batch = id
        case ("limit", .string(let name)):
            guard RateLimit.isName(name) else {
                throw PayloadError(.data, "“limit” is “\(name)”, not the name of a rate limit: \(RateLimit.nameForm)")
            }
            options.limit = name
        case ("after", let value): options.dependencies = try dependencies(value)
        case ("qos", _), ("uniqueKey", _), ("orderingKey", _), ("uniqueFor", _), ("notBefore", _), ("deadline", _),
            ("destination", _), ("keyFailure", _), ("batch", _), ("limit", _):
            throw PayloadError(.data, "“\(member.name)” must be a string, not \(member.value.kind)")
        case ("idempotent", _):
            throw PayloadError(.data, "“idempotent” must be true or false, not \(member.value.kind)")
        case ("retryLimit", _):
            throw PayloadError(.data, "“retryLimit” must be a whole number, not \(member.value.kind)")
        default:
            throw PayloadError(
                .data,
                "unknown key “\(member.name)”: a line has payload, qos, idempotent, uniqueKey, uniqueFor, retryLimit, "
                    + "notBefore, deadline, destination, after, orderingKey, keyLimit, keyFailure, batch and limit")
        }
    }

    private static func dependencies(_ value: JSONValue) throws(PayloadError) -> [Dependency] {
        let texts: [JSONValue] = if case .array(let texts) = value { texts } else { [value] }
        return try texts.map { text throws(PayloadError) in
            guard let dependency = text.string.flatMap({ Dependency(text: $0) }) else {
                throw PayloadError(
                    .data,
                    "“after” must be the id of a command, ID:success, ID:failure or ID:end, or a list of such, not "
                        + text.text)
            }
            return dependency
        }
    }

    private static func time(_ text: String, of name: String) throws(PayloadError) -> Timestamp {
        guard let time = Timestamp(text: text, now: .now) else {
            throw PayloadError(.data, "“\(name)” is “\(text)” and must be RFC 3339, or a time from now as in 10m")
        }
        return time
    }
}

extension Dependency {
    /// Reads an id, or an id and a condition as in `ID:end`.
    /// - Returns: nil for anything else.
    package init?(text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let id = CommandID(String(parts[0])) else { return nil }
        guard parts.count > 1 else {
            self.init(on: id)
            return
        }
        guard let condition = DependencyCondition(name: String(parts[1])) else { return nil }
        self.init(on: id, condition)
    }
}

extension UniquePeriod {
    /// The forms of a period, for error messages.
    package static let forms = "“kept”, “running”, or a time of at least 1 ms such as 10m or 24h"

    /// Reads `kept`, `running`, or a time such as `10m`, `24h`, `1h30m`. - Returns: nil for anything else.
    package init?(text: String) {
        switch text {
        case "kept": self = .kept
        case "running": self = .running
        default:
            guard let duration = Duration.parse(text), duration >= .milliseconds(1) else { return nil }
            self = .duration(duration)
        }
    }
}
