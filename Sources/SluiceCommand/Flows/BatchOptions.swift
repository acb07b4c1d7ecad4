internal import ArgumentParser
internal import Commands
internal import Queue

/// The options of a new batch.
struct BatchOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("A name for people.", valueName: "name"))
    var name: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            A command that runs when all members have succeeded, as JSON: {"type": "request", "payload": {…}}, with \
            the other members of a line of “sluice submit -”.
            """, valueName: "json"))
    var thenSuccess: String?

    @Option(
        name: .long,
        help: ArgumentHelp("A command that runs when the batch has ended and a member has failed.", valueName: "json"))
    var thenFailure: String?

    @Option(name: .long, help: ArgumentHelp("A command that runs after any end of the batch.", valueName: "json"))
    var thenEnd: String?

    var isGiven: Bool { name != nil || thenSuccess != nil || thenFailure != nil || thenEnd != nil }

    func draft(_ data: DataOptions, allowUnknown: Bool) async throws -> BatchDraft {
        var draft = BatchDraft(name ?? "")
        let callbacks: [(String, DependencyCondition, String?)] = [
            ("--then-success", .success, thenSuccess), ("--then-failure", .failure, thenFailure),
            ("--then-end", .end, thenEnd),
        ]
        for (option, condition, text) in callbacks {
            guard let text else { continue }
            do {
                draft.callbacks.append(
                    .init(on: condition, try await Self.callback(text, data, allowUnknown: allowUnknown)))
            } catch {
                let exitError = ExitError(error)
                throw ExitError(exitError.code, "\(option): \(exitError.message ?? "")")
            }
        }
        return draft
    }

    private static func callback(
        _ text: String, _ data: DataOptions, allowUnknown: Bool
    ) async throws -> CommandDraft {
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue(parsing: Array(text.utf8)) } catch {
            throw ExitError(.data, "not valid JSON: \(error)")
        }
        guard case .object(let members) = value, let type = value["type"]?.string else {
            throw ExitError(.data, "give an object with “type”, and “payload” for its operation, not \(value.text)")
        }
        var options = SubmitOptions()
        options.allowUnknownType = allowUnknown
        for member in members where member.name != "type" && member.name != "payload" {
            try BulkField.read(member, into: &options)
        }
        let registry = try await SubmitRegistry.registry(for: type, data)
        return try CommandDraft(
            type: type, payload: value["payload"] ?? .object([]), options: options, registry: registry)
    }
}
