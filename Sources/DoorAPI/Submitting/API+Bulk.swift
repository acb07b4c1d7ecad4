internal import Commands
internal import Door
internal import HTTPTypes
internal import Host
internal import Queue

extension API {
    private static let maxLines = 10_000
    private static let maxBulk = 16 << 20

    /// Submits a command a line, and answers with a line for each, in order. All is read before anything is submitted: a
    /// client that writes without reading would wait for ever otherwise.
    @Sendable func submitBulk(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let policy = try policy(request)
        let key = try IdempotencyScope(request)
        let bytes = try await JSONBody.bytes(request, types: ["application/x-ndjson"], limit: Self.maxBulk, weight: 1)
        return try await runningKeys.run(key) {
            let earlier = try await earlier(of: key)
            let lines = try await BlockingPool.shared.run { () throws(Problem) in
                try self.lines(bytes, policy, key, earlier)
            }
            let drafts = lines.compactMap { if case .success(.draft(let draft)) = $0.content { draft } else { nil } }
            var outcomes = await client.submitOrFind(bulk: drafts).makeIterator()
            var output: [UInt8] = []
            output.reserveCapacity(lines.count * 80)
            for line in lines {
                let result = line.content.flatMap { content in
                    switch content {
                    case .command(let id): .success(Submission(id: id, isExisting: true))
                    case .draft(let draft):
                        count(outcomes.next() ?? .failure(SluiceError(.failed, "the submit gave no result")), of: draft)
                            .mapError(problem)
                    }
                }
                output += Self.json(result, line: line.number, request, basePath: door.basePath).bytes
                output.append(UInt8(ascii: "\n"))
            }
            return JSONReply.response(output, type: "application/x-ndjson")
        }
    }

    private func count(
        _ outcome: Result<Submission, SluiceError>, of draft: CommandDraft
    ) -> Result<Submission, SluiceError> {
        if case .success(let submission) = outcome, !submission.isExisting {
            door.statistics.countSubmitted(draft.type)
        }
        return outcome
    }

    private struct Line: Sendable {
        enum Content: Sendable {
            case draft(CommandDraft)
            /// An earlier request with the same key has made it.
            case command(CommandID)
        }

        var number: Int
        var content: Result<Content, Problem>
    }

    private func earlier(of key: IdempotencyScope?) async throws(Problem) -> EarlierRequest? {
        guard let key else { return nil }
        return try await read(isUrgent: true) { queue in try key.earlier(in: queue) }
    }

    private func lines(
        _ bytes: [UInt8], _ policy: SubmitPolicy, _ key: IdempotencyScope?, _ earlier: EarlierRequest?
    ) throws(Problem) -> [Line] {
        var lines: [Line] = []
        for (number, text) in NDJSONLines(bytes) {
            guard lines.count < Self.maxLines else {
                throw Problem(
                    .contentTooLarge, "too-large",
                    "A bulk may have \(Self.maxLines) commands; send several.",
                    members: [.init("limit", .integer(Int64(Self.maxLines)))])
            }
            let content = Result { () throws(Problem) in
                let text = Array(text)
                let uniqueKey = key?.uniqueKey(line: number, text)
                if let uniqueKey, let id = try earlier?.command(uniqueKey, line: number) {
                    return Line.Content.command(id)
                }
                var line = try SubmitLine(text)
                try line.use(requestKey: uniqueKey)
                try policy.check(line.type)
                return .draft(try line.draft(policy, try registry(for: line.type)))
            }
            lines.append(Line(number: number, content: content))
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

/// The lines of a bulk that are not blank, with their numbers from 1 on. It makes no list of them: 16 MiB of line feeds
/// would take 600 MB of memory.
struct NDJSONLines: Sequence, IteratorProtocol {
    private let bytes: [UInt8]
    private var index = 0
    private var number = 0

    /// - Parameter bytes: lines that end with LF or CR LF; the last one may end without.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func next() -> (number: Int, text: ArraySlice<UInt8>)? {
        while index < bytes.count {
            let start = index
            var isBlank = true
            while index < bytes.count, bytes[index] != UInt8(ascii: "\n") {
                isBlank = isBlank && [0x20, 0x09, 0x0D].contains(bytes[index])
                index += 1
            }
            let line = bytes[start..<index]
            index += 1
            number += 1
            if !isBlank { return (number, line) }
        }
        return nil
    }
}
