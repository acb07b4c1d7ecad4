package import Commands
internal import Console

extension WaitCause {
    /// `12`, or `1,000+` where there are more than were counted.
    package var countText: String { Figures.grouped(Int64(count)) + (isComplete ? "" : "+") }

    /// `12 commands wait`
    package var waitText: String { "\(countText) command\(count == 1 && isComplete ? " waits" : "s wait")" }

    package var name: String {
        switch subject {
        case .destination(.none): "Commands without a destination"
        case .destination(let destination): DestinationText.name(destination)
        case .limit(let name): "Limit “\(name)”"
        case .notBefore: "Not due yet"
        }
    }

    /// The name and the cause. Many causes begin with the name.
    package var sentence: String {
        if case .limit = subject, kind == .turn || kind == .failing { return "\(name) \(text)" }
        guard case .destination(let destination) = subject else { return "\(name): \(text)" }
        return DestinationText.sentence(text, of: destination)
    }

    /// The number, the cause and the age of the oldest: for lines of text.
    package func line(now: Timestamp) -> String {
        "\(waitText), the oldest for \(max(now - since, .zero).shortText). \(sentence)"
    }

    package var json: JSONValue {
        let members: [JSONValue.Member] =
            switch subject {
            case .destination(let destination):
                [.init("destination", destination == .none ? .null : .string(destination.text))]
            case .limit(let name): [.init("limit", .string(name))]
            case .notBefore: []
            }
        return .object(
            [
                .init("count", .integer(Int64(count))), .init("complete", .bool(isComplete)),
                .init("cause", .string(kind.rawValue)), .init("reason", .string(sentence)),
                .init("oldest", .string(since.description)),
            ] + members)
    }
}
