internal import Commands
internal import HTTPClient
internal import Host
internal import NIOCore
internal import NIOHTTP1
internal import Operations
internal import Transfers

/// One execution of a download: sends the requests that ``DownloadRequestRules`` decide on, and writes the
/// bodies of the answers into the part file.
actor DownloadTransfer {
    /// Bytes between two syncs of the part.
    private static let syncStep: Int64 = 256 << 20

    private let payload: DownloadPayload
    private let file: DownloadFile
    private let requests: RedirectedRequest
    /// Nil where the source is not an object of S3.
    private let s3: S3DownloadClient?
    /// A request was refused because of the clock, and the clock was corrected.
    private var hasCorrectedClock = false
    private var rules: DownloadRequestRules
    /// Facts from the head of the last answer with the file.
    private var facts = DownloadFacts()
    /// The action after the body of the current answer; nil: it has not ended.
    private var decision: DownloadAction?
    /// Why the part could not be read or written.
    private var fileError: (any Error)?

    private var execution: CommandExecution { requests.execution }

    /// - Parameters:
    ///   - condition: the validators of the target; nil: none, or they are not to be compared.
    ///   - checkpoint: of the earlier executions.
    init(
        _ payload: DownloadPayload, _ condition: DownloadValidators?, _ checkpoint: DownloadCheckpoint?,
        _ file: DownloadFile, _ requests: RedirectedRequest, _ s3: S3DownloadClient? = nil
    ) {
        self.s3 = s3
        self.payload = payload
        self.file = file
        self.requests = requests
        rules = DownloadRequestRules(
            DownloadTerms(payload, condition: condition), checkpoint: checkpoint, partLength: file.initialLength,
            boot: ProcessIdentity.bootID)
    }

    /// - Returns: the result, once the file has its name.
    /// - Throws: ``CommandFailure``; `CancellationError` where the execution was stopped.
    func run() async throws -> [UInt8] {
        execution.progress(offset: rules.partLength, total: rules.total ?? 0)
        var action = DownloadAction.send(rules.request)
        while true {
            try Task.checkCancellation()
            switch action {
            case .send(let request): action = try await exchange(request)
            case .complete(let completion):
                let execution = execution
                if let checksum = try await file.differing(completion, read: { execution.verifying($0) }) {
                    action = rules.checksumDiffered(checksum)
                } else {
                    return try await publish(completion)
                }
            case .notModified:
                await file.remove()
                return result(.init(path: file.target.path, isNotModified: true))
            case .failed(let failure, let deletesPart):
                if deletesPart { await file.remove() }
                try await saveCheckpoint()
                throw failure
            // Both follow from a body, and `refused` ends in `exchange`.
            case .replace, .append, .refused:
                throw CommandFailure(.command, reason: "GET \(payload.url.displayText) was answered without a body")
            }
        }
    }

    private func saveCheckpoint() async throws { try await execution.saveCheckpoint(rules.checkpoint.bytes) }

    // MARK: Requests

    /// Sends a request, and reads the body of its answer into the part.
    private func exchange(_ request: DownloadRequest) async throws -> DownloadAction {
        (decision, fileError) = (nil, nil)
        var parts = RequestSender.Parts(HTTPMethod(rawValue: request.method), payload.url)
        (parts.headers, parts.needsAnswer) = (request.fields, true)
        let reader: @Sendable (RedirectRules) -> ResponseReader = { [self] redirects in
            let wasRedirected = redirects.hasRedirected
            return { head, body in try await self.receive(head, body, wasRedirected: wasRedirected) }
        }
        var requests = requests
        if let s3 { requests.headers = try await s3.signed(request) }
        // The signature of an object is valid for its host alone.
        let isSigned = s3 != nil
        let response = try await requests.send(
            parts, maxRedirects: RedirectRules.maxRedirects, isFinal: { isSigned && (300..<400).contains($0) },
            reader: request == .head ? nil : reader)
        if let fileError { throw fileError }
        if response.redirects.hasRedirected { facts.url = response.redirects.url.displayText }
        if let decision { return decision }
        return try action(after: response, to: request)
    }

    /// The action after an answer whose body is not needed, or that was cut off.
    private func action(
        after response: RedirectedRequest.Response, to request: DownloadRequest
    ) throws -> DownloadAction {
        let record = response.record
        let failure =
            s3 != nil && record.head != nil
            ? nil
            : response.sender.failure(record, of: HTTPMethod(rawValue: request.method), response.redirects.url)
        guard let head = record.head else {
            throw failure ?? CommandFailure.stopped("the download of \(payload.url.displayText)")
        }
        let answer = DownloadAnswer(head, wasRedirected: response.redirects.hasRedirected)
        guard request == .head || !(200..<300).contains(answer.status) else { throw cutOff(record.error) }
        if request == .head { facts.take(answer) }
        let action = rules.answer(answer)
        guard action == .refused else { return action }
        if let s3 {
            switch s3.judge(record, status: answer.status, to: request, hasCorrectedClock: hasCorrectedClock) {
            case .sendAgain:
                hasCorrectedClock = true
                return .send(request)
            case .failed(let failure): throw failure
            }
        }
        throw failure
            ?? CommandFailure(
                .command,
                reason: "\(request.method) \(payload.url.displayText) was answered \(answer.status), without a file")
    }

    private func cutOff(_ error: (any Error)?) -> any Error {
        if error is CancellationError { return CancellationError() }
        let end = rules.receiving?.body.end.map { " of \($0)" } ?? ""
        let what = "the body of GET \(payload.url.displayText) was cut off after \(position)\(end) bytes"
        var failure = CommandFailure(cutOff: what, by: error)
        if failure.fault == .reset {
            failure.bodyEnd = ProgressCounter.BodyEnd(offset: position, length: rules.receiving?.body.end)
        }
        return failure
    }

    // MARK: Bodies

    /// The offset in the file after the last byte that was received.
    private var position: Int64 = 0

    /// Reads the answer to a GET.
    private func receive(_ head: HTTPResponseHead, _ body: ResponseBody, wasRedirected: Bool) async throws {
        if let pending = CommandFailure.pending(head, to: "GET \(payload.url.displayText)") {
            fileError = pending
            return
        }
        let answer = DownloadAnswer(head, wasRedirected: wasRedirected)
        let action = rules.answer(answer)
        do {
            switch action {
            case .replace(let place):
                facts.take(answer)
                try await file.truncate()
                try await saveCheckpoint()
                try await read(body, into: place)
            case .append(let place):
                facts.take(answer)
                try await read(body, into: place)
            default: decision = action
            }
        } catch let error as HTTPError {
            throw error
        } catch {
            fileError = error
        }
    }

    private func read(_ body: ResponseBody, into place: DownloadBody) async throws {
        var cursor = DownloadBodyCursor(place)
        var synced = place.start
        position = place.start
        if rules.range(from: 0) != nil { execution.canResume() }
        while !cursor.isAtEnd, let chunks = try await body.next() {
            let (blocks, exceedsLimit) = blocks(of: chunks, &cursor)
            guard try await file.apply(blocks) else {
                decision = rules.overlapDiffered()
                return
            }
            if exceedsLimit {
                decision = rules.limitExceeded()
                return
            }
            position = cursor.position
            execution.progress(offset: position, total: rules.total ?? 0)
            if position - synced >= Self.syncStep {
                try await file.sync()
                synced = position
                rules.markSynced(position)
                try await saveCheckpoint()
            }
        }
        if cursor.isAtEnd, facts.hasLength { try await readEnd(of: body) }
        decision = rules.bodyEnded(at: cursor.position)
    }

    /// The end of a body of known length follows its last byte, and lets the connection be used again. A
    /// connection that breaks there has delivered the file; a file that was changed while it was read
    /// (``FileTransport``) must not be published.
    private func readEnd(of body: ResponseBody) async throws {
        do { _ = try await body.next() } catch {
            if let failure = error as? CommandFailure { throw failure }
            try Task.checkCancellation()
        }
    }

    /// Divides chunks into bytes to compare and bytes to write.
    private func blocks(
        of chunks: [ByteBuffer], _ cursor: inout DownloadBodyCursor
    ) -> (blocks: [DownloadFile.Block], exceedsLimit: Bool) {
        var blocks: [DownloadFile.Block] = []
        for var chunk in chunks {
            let step = cursor.take(chunk.readableBytes)
            if step.compared > 0, let bytes = chunk.readSlice(length: step.compared) {
                blocks.append(.init(bytes: bytes, offset: step.offset, isCompared: true))
            }
            if step.written > 0, let bytes = chunk.readSlice(length: step.written) {
                blocks.append(.init(bytes: bytes, offset: step.offset + Int64(step.compared), isCompared: false))
            }
            if step.exceedsLimit { return (blocks, true) }
        }
        return (blocks, false)
    }

    // MARK: End

    private func publish(_ completion: DownloadCompletion) async throws -> [UInt8] {
        // A 206 may leave out what the 200 before it has said.
        facts.validators = rules.checkpoint.validators
        let path = payload.target(contentDisposition: facts.contentDisposition)
        let replaces = payload.overwrite == .replace && !payload.isNamedByServer
        // A symbolic link under a name that the server chose leads to a file that it did not choose.
        let named = replaces ? try await CopyTarget.following(path) : CopyTarget(path: path)
        var number = 0
        while true {
            let target = number == 0 ? named : named.numbered(number)
            if try await file.publish(as: target, publication(completion, replaces)) {
                execution.progress(offset: completion.length, total: completion.length)
                return result(.init(path: target.path, completion: completion))
            }
            number += 1
            guard payload.overwrite == .rename, number <= Self.maxNumber else {
                await file.remove()
                return try DownloadResult.ofExisting(named, payload)
            }
        }
    }

    /// The last number of `a.1.mp4`.
    private static let maxNumber = 9999

    private func publication(_ completion: DownloadCompletion, _ replaces: Bool) -> DownloadFile.Publication {
        DownloadFile.Publication(
            length: completion.length, mode: payload.mode, newMode: payload.newMode,
            modified: payload.keepTime ? facts.modified : nil, replacesTarget: replaces,
            record: TargetRecord(execution.id, url: payload.url, validators: facts.validators))
    }

    private func result(_ end: DownloadResult.End) -> [UInt8] {
        DownloadResult(facts: facts, counts: rules.checkpoint.counts, end: end).json
    }
}
