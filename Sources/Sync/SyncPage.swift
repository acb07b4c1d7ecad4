internal import Commands
internal import Glibc
internal import HTTPClient
internal import Host
internal import NIOCore
internal import NIOHTTP1
internal import Transfers

/// Reads one page: finds the records in its body as it arrives, and stages them in batches.
actor SyncPage {
    /// The head of the answer.
    struct Answer: Sendable {
        var status: Int
        private var headers: [(name: String, value: String)]
        /// After redirects.
        var url: ResourceURL

        init(_ head: HTTPResponseHead, url: ResourceURL) {
            status = Int(head.status.code)
            headers = head.headers.map { ($0.name.lowercased(), $0.value) }
            self.url = url
        }

        init(status: Int, headers: [(name: String, value: String)], url: ResourceURL) {
            (self.status, self.headers, self.url) = (status, headers, url)
        }

        func fields(_ name: String) -> [String] { headers.filter { $0.name == name.lowercased() }.map(\.value) }

        func header(_ name: String) -> String? { fields(name).first }

        /// Whether a body that was cut off would have been noticed.
        var isEndMarked: Bool {
            url.scheme == .file || header("content-length") != nil || header("transfer-encoding") != nil
        }
    }

    /// The counts after the page.
    struct Counts: Sendable {
        var result: SyncResult
        /// Elements of the list on the page.
        var items = 0
        /// The ones of ``items`` that no page before had.
        var newItems = 0
        /// The greatest version of its records.
        var greatest: RecordVersion?
        /// The value at “lastRecord” of “pages” in the last record.
        var lastRecord = EnvelopeValue.missing
        /// The order of the keys.
        var print = ReadPrint.Page()
    }

    /// Records, and bytes of them, that are staged at once.
    private static let maxBatch = (records: 2000, bytes: 1 << 20)
    private static let fileChunk = 256 << 10

    private let payload: SyncPayload
    private let layout: RecordLayout
    private let request: PageRequest
    private let isDelta: Bool
    private let isStaged: Bool
    private let access: CollectionAccess
    private var scanner: RecordScanner
    private var counts: Counts
    private var batch = StagedBatch()
    private var rejects: [(entry: RejectLog.Entry, body: String?)] = []
    private var batchBytes = 0

    /// Why the page cannot be read or staged.
    private(set) var error: (any Error)?
    /// The whole body was read.
    private(set) var isComplete = false

    /// - Parameters:
    ///   - result: the counts of the pages before.
    ///   - isStaged: false where only the keys of the page are looked at.
    init(
        _ payload: SyncPayload, _ request: PageRequest, _ read: SyncRead, _ result: SyncResult,
        _ access: CollectionAccess, isStaged: Bool = true
    ) {
        self.payload = payload
        layout = payload.layout
        self.request = request
        isDelta = read != .full
        self.isStaged = isStaged
        self.access = access
        scanner = RecordScanner(payload.scanPlan)
        counts = Counts(result: result)
        counts.result.pages += 1
    }

    // MARK: Reading

    /// Reads the body of an answer.
    func receive(_ head: HTTPResponseHead, _ body: ResponseBody) async throws {
        do {
            try check(head)
            while let chunks = try await body.next() {
                for chunk in chunks { try await feed(Array(chunk.readableBytesView)) }
            }
            try await end()
        } catch let error as HTTPError {
            throw error
        } catch {
            self.error = error
        }
    }

    private func check(_ head: HTTPResponseHead) throws(CommandFailure) {
        let what = "GET of page \(request.number) of \(payload.url.displayText)"
        if let pending = CommandFailure.pending(head, to: what) { throw pending }
        if head.status.code == 204 || head.status.code == 205 {
            throw answer(.command, "was answered \(head.status.code), without a list")
        }
    }

    private func answer(_ fault: CommandFailure.Fault, _ words: String) -> CommandFailure {
        var failure = CommandFailure(fault, reason: "page \(request.number) of \(payload.url.displayText) \(words)")
        failure.isAnswer = true
        return failure
    }

    /// Reads a `file:` URL, whose validators are made of its time, size and inode.
    /// - Returns: nil where the file is the one of the condition.
    func readFile(unless condition: ListValidators?) async throws -> Answer? {
        let path = payload.url.filePath
        let opened = try await BlockingIO.sources.run(at: path) { () throws in
            do throws(SystemError) {
                // A FIFO without a writer would block the thread for ever.
                return OpenedFile(try openFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY))
            } catch {
                throw CommandFailure(error.code == ENOENT ? .final : .command, reason: "\(error)")
            }
        }
        guard let tag = opened.tag else {
            throw CommandFailure(.final, reason: "\(path) is not a regular file")
        }
        if let condition, condition.etag == tag { return nil }
        while true {
            try Task.checkCancellation()
            let bytes = try await BlockingIO.sources.run(at: path) { () throws in
                guard let bytes = opened.read(Self.fileChunk) else {
                    throw CommandFailure(.command, reason: "\(SystemError("read", path))")
                }
                return bytes
            }
            guard !bytes.isEmpty else { break }
            try await feed(bytes)
        }
        guard opened.tag == tag else {
            throw CommandFailure(.command, reason: "\(path) was changed while it was read; it is read again")
        }
        try await end()
        return Answer(status: 200, headers: [("etag", tag)], url: payload.url)
    }

    private func feed(_ bytes: [UInt8]) async throws {
        scanner.feed(bytes)
        guard counts.result.bytes + Int64(scanner.received) <= payload.maxBytes else {
            var result = counts.result
            result.bytes += Int64(scanner.received)
            throw result.refusal(payload) ?? CommandFailure(.final, reason: "too many bytes")
        }
        try await takeElements()
    }

    private func end() async throws {
        scanner.finish()
        try await takeElements()
        try await flush()
        isComplete = true
    }

    private func takeElements() async throws {
        while let element = try next() {
            try take(element)
            if batch.records.count >= Self.maxBatch.records || batchBytes >= Self.maxBatch.bytes { try await flush() }
        }
    }

    private func next() throws(CommandFailure) -> ScannedElement? {
        do throws(PageProblem) {
            return try scanner.next()
        } catch {
            throw error.failure(of: payload.url.displayText)
        }
    }

    private func take(_ element: ScannedElement) throws(CommandFailure) {
        if element.list == .items {
            counts.items += 1
            counts.result.records += 1
            if layout.cursor != nil { counts.lastRecord = layout.cursor(of: element) }
        }
        switch layout.read(element) {
        case .record(let facts): add(element, facts)
        case .refusal(let reason):
            throw answer(.final, "cannot be ordered: \(reason)")
        case .reject(let key, let problem):
            try reject(element, key, problem)
        }
    }

    private func add(_ element: ScannedElement, _ facts: RecordLayout.Facts) {
        if element.list == .items { counts.print.add(facts.key.text) }
        var kind = StagedRecord.Kind.record
        if element.list == .deletedItems { kind = .deletedKey } else if facts.isTombstone { kind = .tombstone }
        let record = StagedRecord(
            key: facts.key.text, index: element.index, kind: kind, version: facts.version?.stored)
        if kind == .record { batch.append(record, body: element.bytes) } else { batch.append(record) }
        batchBytes += element.bytes.count + record.key.utf8.count
        guard let version = facts.version else { return }
        if counts.greatest.map({ version.isLater(than: $0) == true }) ?? true { counts.greatest = version }
    }

    private func reject(_ element: ScannedElement, _ key: RecordKey?, _ problem: RecordProblem) throws(CommandFailure) {
        if element.list == .items { counts.print.add(key?.text) }
        let entry = RejectLog.Entry(page: request.number, index: element.index, key: key, reason: problem.reason)
        counts.result.rejects.add(entry)
        if let refusal = counts.result.rejects.refusal(payload) { throw refusal }
        if let key { batch.append(StagedRecord(key: key.text, index: element.index, kind: .rejected)) }
        guard counts.result.rejects.count <= CollectionStore.maxRejectRows else { return }
        let body = element.bytes.prefix(CollectionStore.maxRejectBody)
        rejects.append((entry, body.isEmpty ? nil : String(decoding: body, as: UTF8.self)))
        batchBytes += body.count + 64
    }

    private func flush() async throws {
        guard !batch.isEmpty || !rejects.isEmpty else { return }
        let (taken, rejects, page, isDelta) = (batch.take(), self.rejects, request.number, isDelta)
        (self.rejects, batchBytes) = ([], 0)
        guard isStaged else { return }
        let duplicates = try await access.use { store in
            try store.stage(taken, page: page, isDelta: isDelta, rejects: rejects)
        }
        counts.result.duplicates += duplicates
        counts.newItems -= duplicates
    }

    // MARK: End

    /// The values around the lists, and the counts with this page.
    func finish() throws -> (values: SyncPayload.PageValues, Counts) {
        counts.result.bytes += Int64(scanner.received)
        counts.newItems += counts.items
        let values = payload.values(of: scanner.envelope, items: counts.items)
        counts.print.total = Paging.count(values.total)
        return (values, counts)
    }
}

/// A file that is being read; it is closed with this object.
final class OpenedFile: Sendable {
    private let descriptor: CInt

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Changes with the file: of its inode, size and time; nil where it is not a regular file.
    var tag: String? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let time = status.st_mtim
        return "\"\(status.st_ino)-\(status.st_size)-\(time.tv_sec).\(time.tv_nsec)\""
    }

    /// - Returns: up to `count` bytes; none at the end; nil where `errno` says why.
    func read(_ count: Int) -> [UInt8]? {
        while true {
            var result = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                result = Glibc.read(descriptor, buffer.baseAddress, count)
                filled = max(result, 0)
            }
            if result >= 0 { return bytes }
            guard errno == EINTR else { return nil }
        }
    }
}
