internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
internal import Host
internal import Logging
internal import Operations
internal import Queue

extension API {
    /// Bytes of a command: a payload of 1 MiB, as JSON may write it, and the other members.
    private static let maxCommand = 2 * Command.payloadLimit + (64 << 10)

    func policy(_ request: DoorRequest) throws(Problem) -> SubmitPolicy {
        guard let principal = request.principal else { throw .failed }
        return SubmitPolicy(allowance: door.configuration.submit, principal: principal)
    }

    /// The operations that check payloads of a type. It blocks.
    func registry(for type: String) throws(Problem) -> OperationRegistry {
        do { return client.access.rules(for: type, in: try door.registry(type)) } catch {
            door.logger.error("The operations for “\(type)” cannot be used: \(error)")
            throw Problem(
                .forbidden, "type-forbidden",
                "The server cannot check commands of the type “\(type.excerpt)”; its log says why.")
        }
    }

    /// The command that an earlier request with this key has made; nil where there was none.
    /// - Throws: 422 where that request had another content.
    func command(of key: IdempotencyScope, _ text: [UInt8]) async throws(Problem) -> CommandID? {
        let earlier = try await read(isUrgent: true) { queue in try key.earlier(in: queue) }
        return try earlier.command(key.uniqueKey(line: 0, text), line: 0)
    }

    @Sendable func submitCommand(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let policy = try policy(request)
        let key = try IdempotencyScope(request)
        let bytes = try await JSONBody.bytes(request, types: ["application/json"], limit: Self.maxCommand)
        let submission = try await runningKeys.run(key) {
            if let key, let id = try await self.command(of: key, bytes) { return Submission(id: id, isExisting: true) }
            var line = try SubmitLine(bytes)
            try line.use(requestKey: key?.uniqueKey(line: 0, bytes))
            let draft = try await BlockingPool.shared.run { [line] () throws(Problem) in
                try policy.check(line.type)
                return try line.draft(policy, try registry(for: line.type))
            }
            do {
                let submission = try await client.submitOrFind(draft)
                if !submission.isExisting { door.statistics.countSubmitted(draft.type) }
                return submission
            } catch let error as SluiceError {
                throw problem(error)
            }
        }
        // The command of a unique key may be that of another token, and a result is for readers.
        let found = try await representation(
            submission.id, hidden: policy.principal.scopes.contains(.read) ? .none : .result)
        return JSONReply.response(
            found.body, status: submission.isExisting ? .ok : .created,
            fields: [
                .location: "\(request.baseURL)\(Self.root)/commands/\(submission.id)", .eTag: found.tag.text,
            ])
    }
}

/// A command as a client describes it: one JSON object.
struct SubmitLine: Sendable {
    let type: String
    let payload: JSONValue
    /// The payload as its client wrote it.
    let text: [UInt8]
    var options: SubmitOptions

    /// - Throws: 400 for text that is not such an object, and for a key or value that it does not take.
    init(_ bytes: [UInt8]) throws(Problem) {
        let value: JSONValue
        let ranges: [Range<Int>]
        do throws(JSONError) { (value, ranges) = try JSONValue.locatingMembers(of: bytes) } catch {
            throw Problem(.badRequest, "invalid-json", "The text is not valid JSON: \(error).")
        }
        guard case .object(let members) = value else {
            throw Self.refusal(
                "a command is an object such as {\"type\": \"noop\", \"payload\": {}}, not \(value.kind)")
        }
        var type: String?
        var payload: (value: JSONValue, text: [UInt8])?
        var options = SubmitOptions()
        for (member, range) in zip(members, ranges) {
            switch member.name {
            case "payload": payload = (member.value, Array(bytes[range]))
            case "type":
                guard let text = member.value.string, CommandDraft.isType(text) else {
                    throw Self.refusal("“type” is 1 to 64 of a-z, 0-9, “.” and “-”")
                }
                type = text
            default:
                guard BulkField.names.contains(member.name) else {
                    throw Self.refusal(
                        "unknown member “\(member.name.excerpt)”; a command has type, payload, "
                            + "\(BulkField.names.joined(separator: ", "))")
                }
                do throws(PayloadError) { try BulkField.read(member, into: &options) } catch { throw Problem(error) }
            }
        }
        guard let type else { throw Self.refusal("“type” is missing") }
        guard let payload else { throw Self.refusal("“payload” is missing") }
        guard options.uniqueKey != nil || value["uniqueFor"] == nil else {
            throw Self.refusal("“uniqueFor” says how long “uniqueKey” is held, which is missing")
        }
        if options.uniqueKey?.hasPrefix(RequestKey.prefix) == true {
            throw Self.refusal("a unique key does not begin with “\(RequestKey.prefix)”; send Idempotency-Key")
        }
        self.type = type
        self.payload = payload.value
        text = payload.text
        self.options = options
    }

    /// Makes the Idempotency-Key of a request the unique key of the command.
    /// - Parameter key: of this line; nil where the request has none.
    mutating func use(requestKey key: String?) throws(Problem) {
        guard let key else { return }
        guard options.uniqueKey == nil else {
            throw Self.refusal("a command has either “uniqueKey” or the Idempotency-Key of its request; send one")
        }
        options.uniqueKey = key
    }

    /// Checks the command and makes its draft. It blocks.
    /// - Throws: ``Problem`` with 400 or 403.
    func draft(_ policy: SubmitPolicy, _ registry: OperationRegistry) throws(Problem) -> CommandDraft {
        let isTemplate = !options.dependencies.isEmpty
        guard text.count <= Command.payloadLimit else {
            throw Problem(
                .contentTooLarge, "too-large",
                "The payload has \(text.count) bytes and may have \(Command.payloadLimit); submit a reference to it.",
                members: [.init("limit", .integer(Int64(Command.payloadLimit)))])
        }
        let admitted = try policy.admit(type: type, payload: payload, isTemplate: isTemplate)
        let draft: CommandDraft
        do throws(PayloadError) {
            draft = try CommandDraft(
                type: type, payload: admitted, text: admitted == payload ? text : nil, options: options,
                registry: registry)
        } catch {
            throw Problem(error)
        }
        try policy.check(draft)
        return draft
    }

    private static func refusal(_ problem: String) -> Problem {
        Problem(.badRequest, "invalid-command", problem.sentence)
    }
}
