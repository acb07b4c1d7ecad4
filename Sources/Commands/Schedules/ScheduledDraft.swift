/// A command of a schedule as it is stored: a draft whose deadline counts from the time at which the schedule fires.
package struct ScheduledDraft: Sendable, Equatable {
    package var draft: CommandDraft
    /// From the nominal time on; nil: never.
    package var deadline: Duration?

    package init(_ draft: CommandDraft, deadline: Duration? = nil) {
        self.draft = draft
        self.deadline = deadline
    }

    /// The draft of one time.
    package func draft(at time: ScheduledTime) -> CommandDraft {
        var draft = draft
        draft.deadline = deadline.map { time.nominal + $0 }
        return draft
    }
}

// MARK: JSON

extension ScheduledDraft {
    package var json: JSONValue {
        .object([
            .init("type", .string(draft.type)),
            .init("payload", .string(String(decoding: draft.payload, as: UTF8.self))),
            .init("destination", .string(draft.destination.text)), .init("qos", .string(draft.qos.name)),
            .init("idempotent", .bool(draft.idempotent)), .init("retryLimit", .integer(Int64(draft.retryLimit))),
            .init("total", .integer(draft.total)),
            .init("deadline", deadline.map { .integer($0.milliseconds) } ?? .null),
            .init("limit", draft.limit.map { .string($0) } ?? .null),
        ])
    }

    /// Nil for a value of another form.
    package init?(_ json: JSONValue) {
        guard let type = json["type"]?.string, let payload = json["payload"]?.string,
            let destination = json["destination"]?.string,
            let qos = json["qos"]?.string.flatMap({ QualityOfService(name: $0) }),
            let idempotent = json["idempotent"]?.bool,
            let retryLimit = json["retryLimit"]?.integer.flatMap({ Int(exactly: $0) }),
            let total = json["total"]?.integer
        else { return nil }
        var draft = CommandDraft(
            type: type, payload: Array(payload.utf8), destination: Destination(unchecked: destination), qos: qos,
            idempotent: idempotent)
        draft.retryLimit = retryLimit
        draft.total = total
        draft.limit = json["limit"]?.string
        self.init(draft, deadline: json["deadline"]?.integer.map { .milliseconds($0) })
    }
}
