package import Commands
package import Door

extension ActionRun {
    package var json: JSONValue {
        [
            "id": .string(id.description), "verb": .string(action.verb.name), "filter": action.filter.json,
            "actor": .string(actor), "state": .string(state.rawValue), "seen": .integer(Int64(seen)),
            "changed": .integer(Int64(changed)), "skipped": .integer(Int64(skipped)),
            "failed": .integer(Int64(failed)), "problem": problem.map { .string($0) } ?? .null,
            "startedAt": .string(started.description),
            "endedAt": ended.map { .string($0.description) } ?? .null,
        ]
    }
}

extension CommandFilter {
    /// The fields that are set, by the names of the query of the list.
    var json: JSONValue {
        let fields: [(String, String?)] = [
            ("status", statuses.isEmpty ? nil : statuses.map(\.name).sorted().joined(separator: ",")),
            ("qos", qos?.name), ("destination", destination?.text), ("type", type),
            ("batch", batch?.description), ("reason", reason), ("q", subject), ("from", from?.description),
            ("before", before?.description),
        ]
        return .object(fields.compactMap { name, text in text.map { .init(name, .string($0)) } })
    }
}
