internal import Commands
internal import Door
internal import HTTPTypes

/// Decides whether a command may be submitted over HTTP: by the section `door.submit`, and by the rights of the token.
struct SubmitPolicy: Sendable {
    let allowance: SubmitAllowance
    let principal: Principal

    /// Checks a command before its operation sees the payload. It blocks where the payload names a file.
    /// - Parameter isTemplate: the payload may refer to results.
    /// - Returns: the payload to submit: paths are resolved, and redirects are off.
    /// - Throws: 403 for a type, a destination, a path or a reference that is not permitted.
    func admit(type: String, payload: JSONValue, isTemplate: Bool) throws(Problem) -> JSONValue {
        try check(type)
        if isTemplate { try checkReferences(payload) }
        guard let rule = PayloadPolicy.rules[type] else { return payload }
        guard let members = payload.members else { return payload }
        if isTemplate, members.contains(where: { $0.name.hasPrefix("$") }) { throw Self.replaced }
        var admitted: [JSONValue.Member] = []
        for member in members {
            if let objection = rule.objection(to: member) {
                throw Problem(.forbidden, "payload-forbidden", "Over HTTP \(objection).")
            }
            switch member.name {
            case rule.url: try checkURL(member)
            case rule.source: admitted.append(try source(member))
            default: break
            }
            if member.name != rule.source { admitted.append(member) }
        }
        return .object(admitted + rule.added.filter { payload[$0.name] == nil })
    }

    private static let replaced = Problem(
        .forbidden, "payload-forbidden",
        "Over HTTP the members of a payload are written out: one that a result replaces could name any file or address."
    )

    /// Checks a command whose operation has read the payload.
    /// - Throws: 403 for a destination that is not permitted.
    func check(_ draft: CommandDraft) throws(Problem) {
        try check(draft.destination)
        if let objection = principal.objection(toType: draft.type, destination: draft.destination) {
            throw Problem(.forbidden, "submit-forbidden", objection)
        }
    }

    /// - Throws: 403 for a type that is not permitted.
    func check(_ type: String) throws(Problem) {
        guard allowance.types.contains(type) else {
            let types = allowance.types.sorted().joined(separator: ", ")
            throw Problem(
                .forbidden, "type-forbidden",
                "Commands of the type “\(type.excerpt)” are not submitted over HTTP; use one of door.submit.types, "
                    + "which has \(types), or add it there.")
        }
        guard let types = principal.types, !types.contains(type) else { return }
        throw Problem(
            .forbidden, "submit-forbidden",
            "The token “\(principal.name)” may not submit commands of the type “\(type.excerpt)”; use another token.")
    }

    private func check(_ destination: Destination) throws(Problem) {
        guard destination != .none, !allowance.destinations.contains(destination) else { return }
        if destination.isFile { throw Self.file }
        throw Problem(
            .forbidden, "destination-forbidden",
            "Commands over HTTP may not talk to \(destination.text.excerpt); use an origin of "
                + "door.submit.destinations, or add it there.")
    }

    /// No entry of `door.submit.destinations` permits it.
    private static let file = Problem(
        .forbidden, "destination-forbidden",
        "Commands over HTTP neither read nor write files by “file:” URLs; upload the file to a route of sluice.yaml whose "
            + "command stores it, or submit the command on the machine of the door.")

    private func checkURL(_ member: JSONValue.Member) throws(Problem) {
        guard let text = member.value.string else {
            throw Problem(
                .forbidden, "payload-forbidden",
                "Over HTTP “\(member.name)” is a text, not \(member.value.kind): a result could name any address.")
        }
        // A text that is not a URL is refused by the operation, which says why.
        guard let destination = Destination(text) else { return }
        try check(destination)
    }

    private func source(_ member: JSONValue.Member) throws(Problem) -> JSONValue.Member {
        guard let path = member.value.string, let resolved = SourcePath.resolve(path, beneath: allowance.sources) else {
            throw Problem(
                .forbidden, "source-forbidden",
                "“\(member.name)” does not name a file beneath a directory of door.submit.sources; upload the file "
                    + "instead.")
        }
        return .init(member.name, .string(resolved))
    }

    /// A command could send the result of another one to a destination of its token.
    private func checkReferences(_ payload: JSONValue) throws(Problem) {
        guard !principal.scopes.contains(.read), let template = try? PayloadTemplate(payload) else { return }
        let isForeign = template.parents.contains { if case .command = $0 { true } else { false } }
        guard isForeign else { return }
        throw Problem(
            .forbidden, "reference-forbidden",
            "The payload refers to the result of another command, which needs a token with the scope read.")
    }
}
