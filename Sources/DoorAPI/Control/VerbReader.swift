internal import Commands
internal import Door

/// Reads verbs and their arguments from bodies.
enum VerbReader {
    private static let settlements: [String: CommandStatus] = [
        "success": .success, "retry": .new, "cancel": .cancelled,
    ]

    /// - Throws: 400.
    static func quality(_ body: JSONValue) throws(Problem) -> QualityOfService {
        guard let qos = body["qos"]?.string.flatMap({ QualityOfService(name: $0) }) else {
            throw JSONBody.problem("“qos” must be \(CommandFilterForm.qualities).")
        }
        return qos
    }

    /// - Throws: 400.
    static func settlement(_ body: JSONValue) throws(Problem) -> CommandStatus {
        guard let status = body["as"]?.string.flatMap({ settlements[$0] }) else {
            throw JSONBody.problem(
                "“as” must be success (it was delivered), retry (it was not) or cancel (it is not needed any more).")
        }
        return status
    }

    /// The verb of a bulk action. An argument of another verb is refused.
    /// - Throws: 400.
    static func verb(_ body: JSONValue) throws(Problem) -> BulkAction.Verb {
        let verb: BulkAction.Verb
        switch body["verb"]?.string {
        case "cancel": verb = .cancel
        case "retry": verb = .retry
        case "requalify": verb = .requalify(try quality(body))
        case "resolve": verb = .resolve(try settlement(body))
        default: throw JSONBody.problem("“verb” must be cancel, retry, requalify or resolve.")
        }
        if body["qos"] != nil, verb.name != "requalify" { throw JSONBody.problem("“qos” is of the verb requalify.") }
        if body["as"] != nil, verb.name != "resolve" { throw JSONBody.problem("“as” is of the verb resolve.") }
        return verb
    }
}
