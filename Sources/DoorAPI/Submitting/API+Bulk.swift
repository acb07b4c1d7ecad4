internal import Commands
internal import Door
internal import HTTPTypes
internal import Host
internal import Hummingbird
internal import Sluice
internal import Store

extension API {
    private static let maxLines = 10_000
    private static let maxBulk = 16 << 20

    /// Submits a command a line, and answers with a line for each, in order. All is read before anything is submitted: a
    /// client that writes without reading would wait for ever otherwise.
    @Sendable func submitBulk(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let policy = try policy(request)
        let key = try IdempotencyScope(request)
        let bytes = try await JSONBody.bytes(request, types: ["application/x-ndjson"], limit: Self.maxBulk)
        let lines = try await onThread("door-bulk") { () throws(Problem) in
            try self.drafts(bytes, policy, key)
        }
        let drafts = lines.compactMap { try? $0.draft.get() }
        var outcomes = await client.submitOrFind(bulk: drafts).makeIterator()
        var output: [UInt8] = []
        output.reserveCapacity(lines.count * 80)
        for line in lines {
            let result = line.draft.flatMap { draft in
                let outcome = outcomes.next() ?? .failure(SluiceError(.failed, "the submit gave no result"))
                if (try? outcome.get())?.isExisting == false { door.statistics.countSubmitted(draft.type) }
                return outcome.mapError { error in
                    key != nil && error.code == .conflict ? IdempotencyScope.conflict : problem(error)
                }
            }
            output += Self.json(result, line: line.number, request, basePath: door.basePath).bytes
            output.append(UInt8(ascii: "\n"))
        }
        return JSONReply.response(output, type: "application/x-ndjson")
    }

    private struct Line: Sendable {
        var number: Int
        var draft: Result<CommandDraft, Problem>
    }

    private func drafts(
        _ bytes: [UInt8], _ policy: SubmitPolicy, _ key: IdempotencyScope?
    ) throws(Problem) -> [Line] {
        var lines: [Line] = []
        for (index, text) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            guard !text.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) else { continue }
            guard lines.count < Self.maxLines else {
                throw Problem(
                    .contentTooLarge, "too-large",
                    "A bulk may have \(Self.maxLines) commands; send several.",
                    members: [.init("limit", .integer(Int64(Self.maxLines)))])
            }
            let draft = Result { () throws(Problem) in
                var line = try SubmitLine(Array(text))
                try line.use(key, line: index + 1)
                try policy.check(line.type)
                return try line.draft(policy, try registry(for: line.type))
            }
            lines.append(Line(number: index + 1, draft: draft))
        }
        return lines
    }

    private static func json(
        _ result: Result<Submission, Problem>, line: Int, _ request: DoorRequest, basePath: String
    ) -> JSONValue {
        switch result {
        case .success(let submission):
            [
                "line": .integer(Int64(line)), "id": .string(submission.id.description),
                "existing": .bool(submission.isExisting),
            ]
        case .failure(let problem):
            [
                "line": .integer(Int64(line)), "problem": problem.json(basePath: basePath, instance: request.id),
            ]
        }
    }
}
