internal import Commands
internal import NIOCore
internal import NIOHTTP1
internal import Work

/// An upload by PUT that can be resumed with `Content-Range` (RFC 9110, section 14.5), to a destination of which somebody
/// has said that it understands it: one that does not would take the rest of a file for all of it.
///
/// The destination shows how it wants to be asked, in its answer to an empty `PUT` with `Content-Range: bytes */SIZE`:
///
/// | answer | dialect | where is it? |
/// |---|---|---|
/// | 308 | ``Dialect/session`` (Google Cloud Storage and others) | the same question: 308 with `Range: bytes=0-41` |
/// | 400 (Apache httpd with mod_dav), 404, 500 … | ``Dialect/length``: it knows `bytes 0-41/42` alone | HEAD: `Content-Length` |
/// | 2xx | the same, where the target is empty now: it took nothing for the whole file | |
/// | 501 (nginx) | none: it cannot | the whole file is sent in one PUT |
///
/// In the dialect `length` the target is emptied first and grows in its place: what length it has is then ours, and a
/// longer file that stood there leaves no tail. Whoever reads it meanwhile sees its first part. When the rest of a file was
/// sent the length is compared, and a destination that took the rest for the whole gets the whole file after all.
/// The offset is asked for before every resume, and may have gone down. A length does not say whose: while this upload stood
/// still another one may have put its file there. So the last 16 KiB before the offset are read back and compared, where the
/// destination shows them (206); one that lets nobody read is believed. Two uploads to one URL at the same time are not told
/// apart.
struct RangeUpload: Sendable {
    enum Dialect: String, Sendable {
        case session
        case length
    }

    /// Cuts of a kept connection after which it is asked how far it has got. It may have been closed before it was used.
    private static let staleLimit = 2
    /// Requests without a byte gained, after which the destination is not believed any more.
    private static let patience = 4
    /// Bytes before the offset that are compared with the source.
    private static let sample: Int64 = 16 << 10
    /// Of the payload, until a request has made the target: what is there then is ours.
    private static let conditions: Set<String> = ["if-none-match", "if-match", "if-unmodified-since"]

    let requests: UploadRequests
    let source: SourceFile
    /// All of it, for a destination that takes no less.
    let whole: HTTPTransfer.Body

    private enum Step {
        case greet
        case empty
        /// - refusal: why it is asked once more, and the offset that was refused.
        case ask(Dialect, refusal: (record: HTTPRecord, offset: Int64)? = nil)
        case append(Dialect, from: Int64)
        /// The rest has been taken; is it all there?
        case compare
        /// - isOurs: the target is there, and made by this upload.
        case sendWhole(isOurs: Bool)
        case done(HTTPRecord)
    }

    private var size: Int64 { source.identity.size }
    private var url: UploadURL { requests.upload.to }
    private var execution: Execution { requests.execution }

    /// - Returns: the answer that says that all of it is there.
    func run() async throws -> HTTPRecord {
        var step = Step.greet
        if case .contentRange(let dialect)? = UploadCheckpoint(execution.kept, of: source.identity)?.way {
            step = .ask(dialect)
        } else if size == 0 {
            step = .sendWhole(isOurs: false)
        }
        var best: Int64 = -1
        var (vain, stale) = (0, 0)
        while true {
            switch step {
            case .greet: step = try await greet()
            case .empty: step = try await empty()
            case .ask(let dialect, let refusal):
                vain += 1
                guard vain <= Self.patience else {
                    throw Failure(
                        .command,
                        reason: "PUT \(url.textForPeople) does not get on: the destination takes nothing from byte "
                            + "\(max(best, 0)) on")
                }
                step = try await ask(dialect)
                // What is refused at the very offset that was named has another reason, and keeps it.
                if let refusal, case .append(_, let offset) = step, offset == refusal.offset,
                    let failure = requests.failure(refusal.record, of: .PUT, url)
                {
                    throw failure
                }
            case .append(let dialect, let offset):
                if offset > best { (best, vain) = (offset, 0) }
                step = try await append(dialect, from: offset, mayAsk: stale < Self.staleLimit)
                stale += 1
            case .compare: step = try await compare()
            case .sendWhole(let isOurs):
                execution.progress(offset: 0, total: size)
                let record = await put(whole, [], withholding: isOurs ? Self.conditions : [])
                if let failure = requests.failure(record, of: .PUT, url) { throw failure }
                return record
            case .done(let record):
                execution.progress(offset: size, total: size)
                return record
            }
        }
    }

    // MARK: Requests

    private func greet() async throws -> Step {
        let record = await query(withholding: [])
        switch record.status {
        case 308? where Self.isIncomplete(record):
            try await execution.leave(.contentRange(.session), of: source.identity)
            return try next(after: record)
        case 501?: return .sendWhole(isOurs: false)
        case let code? where (200..<300).contains(code):
            guard Self.length(await head()) == 0 else { return .sendWhole(isOurs: true) }
            return try await begin()
        case nil, 401?, 403?, 408?, 410?, 425?, 429?, 502?, 503?, 504?:
            throw requests.failure(record, of: .PUT, url) ?? unexpected(record)
        case let code? where code < 400: throw requests.failure(record, of: .PUT, url) ?? unexpected(record)
        default: return .empty
        }
    }

    private func empty() async throws -> Step {
        let record = await put(.none, [])
        if let failure = requests.failure(record, of: .PUT, url) { throw failure }
        return try await begin()
    }

    /// The target is empty.
    private func begin() async throws -> Step {
        try await execution.leave(.contentRange(.length), of: source.identity)
        execution.progress(offset: 0, total: size)
        return .append(.length, from: 0)
    }

    private func ask(_ dialect: Dialect) async throws -> Step {
        switch dialect {
        case .session:
            let record = await query(withholding: Self.conditions)
            switch record.status {
            case 308? where Self.isIncomplete(record): return try next(after: record)
            case 404?, 410?: throw sessionIsOver(record)
            default:
                if let failure = requests.failure(record, of: .PUT, url) { throw failure }
                return .done(record)
            }
        case .length:
            let record = await head()
            if record.status == 404 || record.status == 410 { return .empty }
            if let failure = requests.failure(record, of: .HEAD, url) { throw failure }
            guard let length = Self.length(record) else {
                throw Failure(
                    .final,
                    reason: "HEAD \(url.textForPeople) was answered without a Content-Length, so nobody knows what is "
                        + "there; take contentRange from this destination in sluice.yaml, or name the protocol put")
            }
            // Somebody has put another file there.
            guard length <= size, try await isOurs(upTo: length) else { return .empty }
            execution.canResume()
            execution.progress(offset: length, total: size)
            return length == size ? .done(record) : .append(.length, from: length)
        }
    }

    /// Whether what stands there ends as this file does at that length.
    private func isOurs(upTo length: Int64) async throws -> Bool {
        let start = max(0, length - Self.sample)
        guard start < length else { return true }
        let record = await requests.send(
            .GET, url, [("Range", "bytes=\(start)-\(length - 1)"), ("Accept-Encoding", "identity")],
            withholding: Self.conditions.union(["content-type"]))
        switch record.status {
        case 206? where record.isComplete: return try await Array(record.body.readableBytesView) == bytes(start, length)
        case 404?, 410?, 416?: return false
        case nil, 206?, 408?, 425?, 429?, 500?, 502?, 503?, 504?:
            throw requests.failure(record, of: .GET, url) ?? unexpected(record)
        default: return true
        }
    }

    /// Of the source.
    private func bytes(_ start: Int64, _ end: Int64) async throws -> [UInt8] {
        let source = source
        do {
            return try await BlockingIO.sources.run {
                try [UInt8](unsafeUninitializedCapacity: Int(end - start)) { buffer, count in
                    count = try source.read(into: UnsafeMutableRawBufferPointer(buffer), at: start)
                }
            }
        } catch let error as SystemError {
            throw Failure(.command, reason: "the source \(source.path) cannot be read: \(error)")
        }
    }

    private func append(_ dialect: Dialect, from offset: Int64, mayAsk: Bool) async throws -> Step {
        let record = await put(
            .unread(source), [("Content-Range", "bytes \(offset)-\(size - 1)/\(size)")],
            withholding: Self.conditions, from: offset)
        if mayAsk, record.lostKeptConnection, execution.command.idempotent, !Task.isCancelled { return .ask(dialect) }
        if dialect == .session, record.status == 308, Self.isIncomplete(record) { return .ask(.session) }
        if dialect == .session, record.status == 404 || record.status == 410 { throw sessionIsOver(record) }
        // It has got on, or lost something, since it was asked: bytes of a connection that was cut may arrive late.
        if record.status == 409 || record.status == 416 {
            return .ask(dialect, refusal: (record: record, offset: offset))
        }
        if let failure = requests.failure(record, of: .PUT, url) { throw failure }
        return dialect == .length && offset > 0 ? .compare : .done(record)
    }

    private func compare() async throws -> Step {
        let record = await head()
        if let failure = requests.failure(record, of: .HEAD, url) { throw failure }
        return Self.length(record) == size ? .done(record) : .sendWhole(isOurs: true)
    }

    private func head() async -> HTTPRecord {
        // Compressed on its way it would have another length.
        await requests.send(
            .HEAD, url, [("Accept-Encoding", "identity")], withholding: Self.conditions.union(["content-type"]))
    }

    private static func length(_ record: HTTPRecord) -> Int64? {
        guard record.status == 200 || record.status == 204 else { return nil }
        return record.header("content-length").flatMap { Int64($0) }
    }

    private func query(withholding withheld: Set<String>) async -> HTTPRecord {
        await requests.send(.PUT, url, [("Content-Range", "bytes */\(size)")], withholding: withheld)
    }

    private func put(
        _ body: HTTPTransfer.Body, _ own: [(name: String, value: String)], withholding withheld: Set<String> = [],
        from start: Int64 = 0
    ) async -> HTTPRecord {
        var headers = own
        if !requests.upload.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            headers.append(("Content-Type", MediaType.of(fileName: requests.upload.fileName)))
        }
        let end = if case .none = body { start } else { size }
        return await requests.send(.PUT, url, headers, withholding: withheld, body: body, from: start, size: end)
    }

    // MARK: Answers

    /// 308 is also a redirect (RFC 9110, section 15.4.9), which says where to.
    private static func isIncomplete(_ record: HTTPRecord) -> Bool { record.header("location") == nil }

    /// `Range: bytes=0-41`: 42 bytes are there; without it, none.
    private func next(after record: HTTPRecord) throws -> Step {
        var offset: Int64 = 0
        if let range = record.header("range") {
            guard let dash = range.lastIndex(of: "-"), let last = Int64(range[range.index(after: dash)...]),
                (0..<size - 1).contains(last)
            else { throw unexpected(record) }
            offset = last + 1
        }
        execution.canResume()
        execution.progress(offset: offset, total: size)
        return .append(.session, from: offset)
    }

    private func sessionIsOver(_ record: HTTPRecord) -> Failure {
        Failure(
            .final,
            reason: "PUT \(url.textForPeople) was answered \(record.status ?? 0): the session of this upload is over; "
                + "open another one there and submit to its URL")
    }

    private func unexpected(_ record: HTTPRecord) -> Failure {
        Failure(
            .command,
            reason: "PUT \(url.textForPeople) was answered \(record.status ?? 0) with the range "
                + "“\((record.header("range") ?? "").prefix(80))”, which says nothing of \(size) bytes")
    }
}
