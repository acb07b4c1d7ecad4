package import Commands
internal import Store

extension Upload {
    /// The properties of an upload. The token and the metadata of its creator are not among them.
    package var json: JSONValue {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        return [
            "id": .string("\(id)"), "state": .string(state.name), "offset": .integer(offset),
            "length": length.map { .integer($0) } ?? .null,
            "protocol": .string(facts.origin.rawValue), "fileName": text(facts.fileName),
            "contentType": text(facts.contentType), "route": text(facts.route),
            "createdAt": .string("\(createdAt)"), "updatedAt": .string("\(updatedAt)"),
            "expiresAt": state == .open ? text(due.map { "\($0)" }) : .null,
            "command": text(command.map { "\($0)" }), "reason": text(reason),
        ]
    }
}

extension UploadState {
    /// The word in JSON and in queries.
    package var name: String {
        switch self {
        case .open: "open"
        case .complete: "complete"
        case .ended: "ended"
        }
    }

    /// Nil for any other word.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}
