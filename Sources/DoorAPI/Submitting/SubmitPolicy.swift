internal import Commands
internal import Door
internal import Glibc
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

/// The members that the payload of a built-in operation may have over HTTP. Types of other programs are checked by their
/// programs.
struct PayloadPolicy: Sendable {
    /// The member with the URL that the command talks to.
    var url: String?
    /// The member with the path of a file that is sent.
    var source: String?
    /// Members that write a file, delete one, or state facts that only this machine knows.
    var refused: [String] = []
    /// Members that may have only this value.
    var fixed: [JSONValue.Member] = []
    /// Members whose objects may have only these members.
    var limited: [String: [String]] = [:]

    /// Members that are numbers up to this one.
    var maxima: [String: Int64] = [:]

    /// Members that are set where the client has left them out.
    var added: [JSONValue.Member] { fixed.filter { $0.value != .bool(false) } }

    /// The worker checks addresses and paths again, see ``Confinement``.
    private static let confined = JSONValue.Member("confined", true)

    /// Milliseconds. A noop of the command line may wait for a day; one of a client would hold a slot of a worker, which
    /// no destination and no rate limit governs.
    static let maxNoop: Int64 = 60_000

    static let rules: [String: PayloadPolicy] = [
        CommandType.noop: PayloadPolicy(maxima: ["milliseconds": maxNoop]),
        CommandType.request: PayloadPolicy(
            url: "url", source: "bodyFile", refused: ["saveTo", "source"],
            // A redirect leads to an address that no rule has seen.
            fixed: [.init("redirects", 0), confined]),
        CommandType.webhook: PayloadPolicy(url: "url", fixed: [confined]),
        CommandType.upload: PayloadPolicy(
            url: "to", source: "file", refused: ["source"], fixed: [.init("removeSource", false), confined]),
        CommandType.exec: PayloadPolicy(
            refused: ["stdinFile", "directory"],
            limited: ["stdout": ["keep", "limit"], "stderr": ["keep", "limit"]]),
    ]

    /// - Returns: a sentence without a full stop; nil where the member is permitted.
    func objection(to member: JSONValue.Member) -> String? {
        if refused.contains(member.name), member.value != .null {
            return "a payload has no “\(member.name)”, which names a file of the server; leave it out"
        }
        if let value = fixed.first(where: { $0.name == member.name })?.value, member.value != value {
            return "“\(member.name)” can only be \(value.text); leave it out"
        }
        if let max = maxima[member.name] {
            switch member.value {
            case .integer(...max): break
            // A result could be any number.
            case .integer, .number, .decimal, .object:
                return "“\(member.name)” is a number up to \(max); submit a longer command on the machine of the door"
            default: break
            }
        }
        guard let known = limited[member.name], member.value != .null else { return nil }
        guard let members = member.value.members, members.allSatisfy({ known.contains($0.name) }) else {
            return "“\(member.name)” has no members but \(known.joined(separator: " and ")); leave out the others"
        }
        return nil
    }
}

/// Finds files beneath directories that the configuration opens to clients.
enum SourcePath {
    /// Resolves every symbolic link of a path. It blocks.
    /// - Parameter directories: absolute paths.
    /// - Returns: the real path of a regular file beneath one of the directories. Nil for anything else, so that a client
    ///   does not learn which other files exist.
    static func resolve(_ path: String, beneath directories: [String]) -> String? {
        guard path.utf8.first == .slash, !path.utf8.contains(0), !directories.isEmpty, let real = real(path) else {
            return nil
        }
        let isBeneath = directories.contains { directory in
            guard let root = self.real(directory) else { return false }
            return real.beginsWithBytes(of: root.endsWithBytes(of: "/") ? root : root + "/")
        }
        var status = stat()
        guard isBeneath, lstat(real, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return real
    }

    private static func real(_ path: String) -> String? {
        guard let bytes = realpath(path, nil) else { return nil }
        defer { free(bytes) }
        return String(validatingCString: bytes)
    }
}
