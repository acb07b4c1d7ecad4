extension RelationOverview {
    /// `flows`, `batches`, `orderingKeys` and `schedules`; null where there are none.
    package var members: [JSONValue.Member] {
        [
            .init("flows", flows.count == 0 ? .null : flows.json),
            .init("batches", batches.count == 0 ? .null : batches.json),
            .init("orderingKeys", keys.keys == 0 ? .null : keys.json),
            .init("schedules", schedules.count == 0 ? .null : schedules.json),
        ]
    }
}

extension FlowOverview {
    fileprivate var json: JSONValue {
        .object([
            .init("count", .integer(Int64(count))), .init("complete", .bool(isComplete)),
            .init("newest", .array(newest.map(\.summary))),
        ])
    }
}

extension FlowState {
    /// The flow without its command's fields.
    fileprivate var summary: JSONValue {
        .object([
            .init("id", .string(command.id.description)), .init("name", .string(name)),
            .init("nodes", .integer(Int64(nodes))), .init("ended", .integer(Int64(nodes - open))),
            .init("failed", .integer(Int64(failed))), .init("createdAt", .string(command.createdAt.description)),
        ])
    }
}

extension BatchOverview {
    fileprivate var json: JSONValue {
        .object([
            .init("count", .integer(Int64(count))), .init("complete", .bool(isComplete)),
            .init("newest", .array(newest.map(\.summary))),
        ])
    }
}

extension BatchState {
    /// The batch without its command's fields.
    fileprivate var summary: JSONValue {
        .object([
            .init("id", .string(command.id.description)), .init("name", .string(name)),
            .init("sealed", .bool(isSealed)),
            .init("members", .integer(Int64(members))), .init("ended", .integer(Int64(members - open))),
            .init("failed", .integer(Int64(failed))), .init("createdAt", .string(command.createdAt.description)),
        ])
    }
}

extension OrderingKeyOverview {
    fileprivate var json: JSONValue {
        .object([
            .init("keys", .integer(Int64(keys))), .init("waiting", .integer(Int64(waiting))),
            .init("complete", .bool(isComplete)),
            .init(
                "longest",
                longest.map {
                    .object([.init("key", .string($0.key)), .init("waiting", .integer(Int64($0.waiting)))])
                } ?? .null),
        ])
    }
}

extension ScheduleOverview {
    fileprivate var json: JSONValue {
        .object([
            .init("count", .integer(Int64(count))), .init("paused", .integer(Int64(paused))),
            .init("complete", .bool(isComplete)),
            .init(
                "next",
                next.map {
                    .object([.init("schedule", .string($0.name)), .init("at", .string($0.at.description))])
                } ?? .null),
            .init(
                "held",
                .array(
                    held.map { .object([.init("schedule", .string($0.name)), .init("reason", .string($0.reason))]) })),
        ])
    }
}
