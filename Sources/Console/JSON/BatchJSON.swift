package import Commands

/// A batch as JSON.
package enum BatchJSON {
    package static func value(of batch: BatchState) -> JSONValue {
        .object([
            .init("id", .string(batch.command.id.description)), .init("name", .string(batch.name)),
            .init("status", .string(batch.command.status.name)), .init("sealed", .bool(batch.isSealed)),
            .init("members", .integer(Int64(batch.members))),
            .init("ended", .integer(Int64(batch.members - batch.open))), .init("failed", .integer(Int64(batch.failed))),
            .init("reason", batch.command.reason.map { .string($0) } ?? .null),
            .init("createdAt", .string(batch.command.createdAt.description)),
            .init("updatedAt", .string(batch.command.updatedAt.description)),
        ])
    }
}
