internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
internal import Host
internal import Hummingbird
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
