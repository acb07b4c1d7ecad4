package import Commands

extension Command {
    /// The stable members of a command in every JSON output.
    package var members: [JSONValue.Member] {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        func time(_ value: Timestamp?) -> JSONValue {
            guard let value, value > .zero else { return .null }
            return .string(value.description)
        }
        return [
            .init("id", .string(id.description)), .init("type", .string(type)), .init("qos", .string(qos.name)),
            .init("status", .string(status.name)),
            .init("destination", destination == .none ? .null : .string(destination.text)),
            .init("idempotent", .bool(idempotent)), .init("claim", .integer(Int64(claim))),
            .init("cancelRequested", .bool(cancelRequested)), .init("retries", .integer(Int64(retries))),
            .init("retryLimit", .integer(Int64(retryLimit))), .init("crashes", .integer(Int64(crashes))),
            .init("notBefore", time(notBefore)), .init("deadline", time(deadline)),
            .init("uniqueKey", text(uniqueKey)),
            .init("uniqueFor", text(uniqueKey.map { _ in uniqueFor.description })),
            .init("orderingKey", text(orderingKey)), .init("batch", text(batch?.description)),
            .init("limit", text(limit)),
            .init("offset", .integer(offset)), .init("total", .integer(total)),
            .init("worker", seat.map { .integer(Int64($0)) } ?? .null), .init("reason", text(reason)),
            .init("createdAt", time(createdAt)), .init("updatedAt", time(updatedAt)),
        ]
    }

    package var json: JSONValue { .object(members) }

    /// The result of a program that has failed has its outputs.
    package var hasFailedProgram: Bool { type == CommandType.exec && (status == .error || status == .tooManyTimes) }
}

extension Transition {
    package var json: JSONValue {
        .object([
            .init("seq", .integer(seq)), .init("status", .string(status.name)), .init("at", .string(at.description)),
            .init("worker", seat.map { .integer(Int64($0)) } ?? .null), .init("claim", .integer(Int64(claim))),
            .init("reason", reason.map { .string($0) } ?? .null),
        ])
    }
}

extension JSONValue {
    /// Bytes that should be JSON; as a string where they are not.
    package init(stored bytes: [UInt8]) {
        if let value = try? JSONValue(parsing: bytes) {
            self = value
        } else {
            self = .string(String(decoding: bytes, as: UTF8.self))
        }
    }
}
