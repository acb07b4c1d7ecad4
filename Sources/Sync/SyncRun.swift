internal import Commands
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import Operations
internal import Transfers

/// One execution of a sync: reads the pages, stages their records, and merges them when all have come.
actor SyncRun {
    private let payload: SyncPayload
    private let access: CollectionAccess
    private let requests: RedirectedRequest

    private var read = SyncRead.full
    private var condition: ListValidators?
    private var paging: Paging
    private var progress = SinceProgress()
    private var result = SyncResult()
    private var everyPageWas200 = true
    private var isEveryEndMarked = true
    /// The first page of the read.
    private var firstRequest: PageRequest
    private var firstPage = ReadFacts.FirstPage.unknown
    private var print = ReadPrint()
    /// Of the first read of this execution, while the second one runs.
    private var firstPrint: ReadPrint?
    private var pace = PagePace()
    /// The next page is the first after a resumption, whose cursor may have expired.
    private var isResuming = false
    /// The content coding that was taken off the pages.
    private var coding: String?
    /// Of the first page.
    private var validators: ListValidators?
    /// The page that is being read.
    private var page: SyncPage?

    private var execution: CommandExecution { requests.execution }

    init(_ payload: SyncPayload, _ access: CollectionAccess, _ requests: RedirectedRequest) throws(CommandFailure) {
        self.payload = payload
        self.access = access
        self.requests = requests
        paging = try Paging(payload.pages, payload.url)
        firstRequest = paging.request
    }

    private enum Step {
        case next
        case end(PagingEnd)
        /// Reads from the first page again.
        case begin(SyncRead)
        case notModified
    }

    /// - Returns: the result.
    /// - Throws: ``CommandFailure``; `CancellationError` where the execution was stopped.
    func run() async throws -> [UInt8] {
        if let result = try await start() { return result }
        while true {
            try Task.checkCancellation()
            switch try await readPage() {
            case .next: continue
            case .begin(let read):
                try await begin(read, isRestart: true)
            case .notModified: return try await unchanged()
            case .end(let end):
                if let result = try await ended(end) { return result }
            }
        }
    }

    /// - Returns: the result; nil where the list is read again.
    private func ended(_ end: PagingEnd) async throws -> [UInt8]? {
        while true {
            switch try await merge(end) {
            case .merged(let result):
                publish(result)
                return result.json.bytes
            case .checkFirstPage: firstPage = try await readFirstPageAgain()
            case .readAgain:
                let first = print
                try await begin(.full, isRestart: true)
                firstPrint = first
                return nil
            }
        }
    }

    // MARK: Start

    /// - Returns: the result where an earlier execution of the command was merged, and died before it could
    ///   say so.
    private func start() async throws -> [UInt8]? {
        let (columns, id, isRenewed) = (payload.columns, execution.id, Self.isRenewed(execution.command))
        let known = try await access.ifExists { collection in
            if isRenewed { try collection.forgetRuns(of: id) }
            return (
                state: try collection.state(), checkpoint: try collection.checkpoint(), result: try collection.result(),
                staged: try collection.staged(), hasColumns: try collection.hasColumns(columns)
            )
        }
        let start = SyncStart(
            payload, command: execution.id, state: known?.state ?? SyncState(), checkpoint: known?.checkpoint, now: .now
        )
        switch start {
        case .applied: return known?.result
        case .resume(let checkpoint):
            guard let staged = known?.staged else { break }
            try resume(checkpoint, staged.counts, staged.rejects)
            return nil
        case .begin(let read, let condition):
            self.condition = known?.hasColumns == true ? condition : nil
            try await begin(read, isRestart: false)
            return nil
        }
        try await begin(.full, isRestart: false)
        return nil
    }

    /// Whether a person has begun the command again since its last execution: a retry removes the reason that
    /// each end but a success leaves.
    private static func isRenewed(_ command: Command) -> Bool { command.claim > 1 && command.reason == nil }

    private func begin(_ read: SyncRead, isRestart: Bool) async throws {
        if isRestart { condition = nil }
        _ = try await access.ifExists { store in try store.dropStage() }
        self.read = read
        let restarted = result.restarted + (isRestart ? 1 : 0)
        (result, progress) = (SyncResult(), SinceProgress())
        (result.restarted, result.full) = (restarted, read == .full)
        (everyPageWas200, isEveryEndMarked, validators, isResuming) = (true, true, nil, false)
        (print, firstPage) = (ReadPrint(), .unknown)
        paging = try Paging(payload.pages, try SinceRules.url(payload, read))
        firstRequest = paging.request
    }

    private func resume(
        _ checkpoint: SyncCheckpoint, _ counts: StagedCounts, _ rejects: [RejectLog.Entry]
    ) throws(CommandFailure) {
        (read, progress, everyPageWas200) = (checkpoint.read, checkpoint.progress, checkpoint.everyPageWas200)
        let url = try SinceRules.url(payload, read)
        firstRequest = try Paging(payload.pages, url).request
        paging = try Paging(payload.pages, url, from: checkpoint.position)
        print = checkpoint.print
        (result.records, result.duplicates) = (counts.records, counts.duplicates)
        (result.pages, result.bytes, result.restarted) = (counts.pages, counts.bytes, counts.restarted)
        result.rejects = RejectLog(
            count: counts.rejected, withoutKey: counts.rejectedWithoutKey, entries: rejects)
        result.full = read == .full
        isResuming = true
        execution.progress(offset: result.bytes, total: 0)
    }

    /// The result of a 304. Nothing is written.
    private func unchanged() async throws -> [UInt8] {
        let state = try await access.ifExists { store in try store.state() } ?? SyncState()
        result.notModified = true
        (result.rev, result.token) = (state.rev, state.token)
        return result.json.bytes
    }

    // MARK: Pages

    private func readPage() async throws -> Step {
        let request = paging.request
        let page = SyncPage(payload, request, read, result, access)
        if payload.url.scheme == .file {
            guard let answer = try await page.readFile(unless: condition) else { return .notModified }
            return try await pageEnded(page, answer)
        }
        let now = ContinuousClock.now
        let start = pace.start(now: now)
        if start > now { try await Task.sleep(until: start, clock: .continuous) }
        var headers = fields
        if request.number == 1, let condition { headers += condition.headers }
        let response = try await send(request, headers, to: page)
        if let error = await page.error { throw error }
        guard let head = response.record.head else {
            throw failure(response) ?? CommandFailure.stopped("the sync of \(payload.url.displayText)")
        }
        let status = Int(head.status.code)
        guard (200..<300).contains(status) else { return try await refused(status, response) }
        guard await page.isComplete else {
            throw cutOff(
                response.record.error, request, received: Int64(response.record.receivedBytes),
                length: response.record.header("content-length").flatMap { Int64($0) })
        }
        coding = response.record.decoded ?? coding
        let answer = SyncPage.Answer(head, url: response.redirects.url)
        return try await pageEnded(page, answer)
    }

    private func send(
        _ request: PageRequest, _ headers: [(name: String, value: String)], to page: SyncPage
    ) async throws -> RedirectedRequest.Response {
        var parts = RequestSender.Parts(.GET, request.url)
        parts.headers = headers
        (parts.needsAnswer, parts.decodesAnswer) = (true, true)
        let reader: @Sendable (RedirectRules) -> ResponseReader = { _ in
            { head, body in try await page.receive(head, body) }
        }
        return try await requests.send(
            parts, maxRedirects: RedirectRules.maxRedirects, isFinal: { $0 == 304 }, reader: reader)
    }

    /// Requests the first page behind the last one. An answer that is not a page proves nothing, as a change.
    private func readFirstPageAgain() async throws -> ReadFacts.FirstPage {
        let page = SyncPage(payload, firstRequest, read, SyncResult(), access, isStaged: false)
        _ = try await send(firstRequest, fields, to: page)
        try Task.checkCancellation()
        guard await page.isComplete, await page.error == nil else { return .changed }
        return try await page.finish().1.print == print.first ? .same : .changed
    }

    private var fields: [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = [("Accept-Encoding", "identity")]
        if !payload.headers.contains(where: { $0.name.lowercased() == "accept" }) {
            fields.append(("Accept", payload.format == .json ? "application/json" : "application/x-ndjson"))
        }
        return fields
    }

    private func failure(_ response: RedirectedRequest.Response) -> (any Error)? {
        response.sender.failure(response.record, of: .GET, response.redirects.url)
    }

    /// The step after an answer that is not a page.
    private func refused(_ status: Int, _ response: RedirectedRequest.Response) async throws -> Step {
        if status == 304, condition != nil, paging.request.number == 1 { return .notModified }
        let start = response.record.body.readableBytesView.prefix(4096)
        if SinceRules.isRefusal(status: status, start: start, read, payload.since) { return .begin(.full) }
        if isResuming, SyncCheckpoint.isExpiredCursor(status: status) { return .begin(read) }
        if status == 404, paging.endsWhereNotFound { return .end(paging.completeness) }
        throw failure(response)
            ?? CommandFailure(
                .command, reason: "GET \(paging.request.url.displayText) was answered \(status), without a list")
    }

    private func cutOff(
        _ error: (any Error)?, _ request: PageRequest, received: Int64, length: Int64?
    ) -> any Error {
        if error is CancellationError || Task.isCancelled { return CancellationError() }
        let what = "the body of page \(request.number) of \(payload.url.displayText) was cut off"
        var failure = CommandFailure(cutOff: what, by: error)
        if failure.fault == .reset {
            // With the pages before, so that two pages that end alike differ.
            failure.bodyEnd = ProgressCounter.BodyEnd(
                offset: result.bytes + received, length: length.map { result.bytes + $0 })
        }
        return failure
    }

    /// Commits a page, and moves on.
    private func pageEnded(_ page: SyncPage, _ answer: SyncPage.Answer) async throws -> Step {
        let request = paging.request
        let (values, read) = try await page.finish()
        (result, isResuming) = (read.result, false)
        print.add(read.print)
        for version in [read.greatest].compactMap(\.self) { progress.record(version) }
        if answer.status != 200 { everyPageWas200 = false }
        // JSON shows its end. Lines that end with their connection may have been cut off at the end of a
        // line.
        if payload.format == .ndjson, !answer.isEndMarked { isEveryEndMarked = false }
        if request.number == 1 {
            validators = ListValidators(
                etag: answer.header("etag"), lastModified: answer.header("last-modified"), pages: 1, read: self.read)
        }
        var token: String?
        if case .header(let name)? = payload.since?.source { token = answer.header(name) }
        progress.page(
            number: request.number, date: answer.header("date"), header: token, value: values.token,
            rule: payload.since, now: .now)
        var links = PageAnswer(url: answer.url, items: read.items, newItems: read.newItems)
        links.links = answer.fields("link")
        (links.cursor, links.total, links.more) = (values.cursor, values.total, values.more)
        (links.lastRecord, links.signs) = (read.lastRecord, values.signs)
        links.signs.rest = links.signs.rest ?? PagingSigns.rest(in: answer.fields, items: read.items)
        let step = paging.next(after: links)
        if case .failure(let failure) = step { throw failure }
        var isEnd = false
        if case .end = step { isEnd = true }
        try await commit(isEnd: isEnd)
        execution.progress(offset: result.bytes, total: 0)
        guard case .end(let end) = step else { return .next }
        return .end(!end.isPartial && !isEveryEndMarked ? .partial(because: Self.unmarked) : end)
    }

    /// - Parameter isEnd: the last page has no position behind it, and a later execution begins again.
    private func commit(isEnd: Bool) async throws {
        var checkpoint: SyncCheckpoint?
        if !isEnd, let position = paging.position {
            var made = SyncCheckpoint(
                command: execution.id, payload: payload, at: .now, position: position, read: read, progress: progress)
            made.everyPageWas200 = everyPageWas200
            made.print = print
            checkpoint = made
            execution.canResume()
        }
        let counts = StagedCounts(result)
        try await access.use { [checkpoint] store in try store.commitPage(checkpoint: checkpoint, counts: counts) }
    }

    private static let unmarked = "the server marks the end of its lines neither by length nor by chunks"

    // MARK: Merge

    /// Tells monitors of a sync that has changed rows.
    private func publish(_ result: SyncResult) {
        guard result.inserted + result.updated + result.deleted > 0 else { return }
        execution.publish(
            "collection/\(payload.collection)",
            .object([
                .init("rev", .integer(result.rev)), .init("inserted", .integer(Int64(result.inserted))),
                .init("updated", .integer(Int64(result.updated))), .init("deleted", .integer(Int64(result.deleted))),
                .init("rejected", .integer(Int64(result.rejects.count))), .init("full", .bool(result.full)),
                .init("command", .string(execution.id.description)), .init("at", .string(Timestamp.now.description)),
            ]))
    }

    private func merge(_ end: PagingEnd) async throws -> MergeOutcome {
        if let refusal = result.refusal(payload) { throw refusal }
        result.token = progress.token(payload.since, after: end, of: read)
        result.decoded = coding
        switch end {
        case .complete: result.partial = firstPage == .changed ? MissingRows.firstPageChanged : nil
        case .moved: result.partial = MissingRows.totalChanged
        case .partial(let reason): result.partial = reason
        }
        var plan = MergePlan(
            payload: payload, command: execution.id, read: read, end: end,
            clockOffset: progress.clockOffset ?? .zero, result: result, now: .now)
        plan.everyPageWas200 = everyPageWas200
        plan.firstPage = firstPage
        (plan.print, plan.firstPrint) = (print, firstPrint)
        plan.validators = result.pages == 1 && end == .complete ? validators : nil
        try Task.checkCancellation()
        return try await access.use { [plan] store in try store.merge(plan) }
    }
}
