internal import Commands
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import Work

/// An upload by tus 1.0.0 (https://tus.io/protocols/resumable-upload): the core protocol and the creation extension.
///
/// ```
/// POST to         Upload-Length, Upload-Metadata   → 201 with Location: where the upload lives. It is kept in the store
///                                                    before the first byte leaves, so any worker can go on
/// HEAD Location   before a resume                  → Upload-Offset: bytes that are safe there
/// PATCH Location  Upload-Offset, and the rest      → 204 with Upload-Offset
/// ```
///
/// | answer | to | meaning |
/// |---|---|---|
/// | 404, 410; 403 to HEAD | HEAD, PATCH | the upload has vanished: another one is made, once an execution |
/// | 409 | PATCH | it has another offset: asked again |
/// | 423 | HEAD, PATCH | somebody holds it, mostly the connection that was cut: asked again after pauses (``HTTPConfiguration/lockWaits``) |
/// | 412 | all | another version of tus: final |
/// | any other | all | as of every request, see ``HTTPVerdict`` |
struct TusUpload: Sendable {
    static let version = "1.0.0"
    /// How soon another execution may ask for a locked upload.
    static let lockedRetry: Duration = .seconds(5)
    /// Cuts of a kept connection after which it is asked how far it has got. It may have been closed before it was used.
    private static let staleLimit = 2
    /// Requests without a byte gained, after which the destination is not believed any more.
    private static let patience = 6

    let requests: UploadRequests
    let source: SourceFile

    private enum Step {
        case create
        case ask(UploadURL)
        case append(UploadURL, from: Int64)
        case wait(UploadURL, else: any Error)
        case done(HTTPRecord)
    }

    private var size: Int64 { source.identity.size }
    private var execution: Execution { requests.execution }
    private var pauses: [Duration] { requests.transport.configuration.lockWaits }

    /// - Returns: the answer to the request that made it whole, with the place of the upload as its `Location`.
    func run() async throws -> HTTPRecord {
        var step = Self.place(in: execution, requests.upload, source.identity).map(Step.ask) ?? .create
        var waits = pauses[...]
        var best: Int64 = -1
        var vain = 0
        var created = 0
        var stale = 0
        while true {
            switch step {
            case .create:
                created += 1
                guard created <= 2 else { throw standstill("its uploads vanish as soon as they are made") }
                step = try await create()
            case .ask(let url):
                vain += 1
                guard vain <= Self.patience + pauses.count else {
                    throw standstill("it names offsets and then refuses them")
                }
                step = try await ask(url)
            case .append(let url, let offset):
                if offset > best { (best, vain, waits) = (offset, 0, pauses[...]) }
                step = try await append(url, from: offset, mayAsk: stale < Self.staleLimit)
                stale += 1
            case .wait(let url, let failure):
                guard let wait = waits.popFirst() else { throw failure }
                try await Task.sleep(for: wait)
                step = .ask(url)
            case .done(let record): return record
            }
        }
    }

    /// Whether an earlier execution has brought all of the file there: its source may be gone since.
    /// - Returns: the answer that says so; nil where it has not, or cannot be known.
    /// - Throws: where nobody can know now.
    static func confirmation(_ requests: UploadRequests, _ source: SourceIdentity) async throws -> HTTPRecord? {
        guard let url = place(in: requests.execution, requests.upload, source) else { return nil }
        let record = await requests.send(.HEAD, url, [("Tus-Resumable", version)], withholding: ["upload-metadata"])
        if record.status == 423 { throw locked(requests, record, .HEAD, url) }
        if let passing = requests.passingFailure(record, of: .HEAD, url) { throw passing }
        guard let code = record.status, (200..<300).contains(code), number(record, "upload-offset") == source.size
        else { return nil }
        return placed(record, at: url)
    }

    private static func place(
        in execution: Execution, _ upload: UploadPayload, _ source: SourceIdentity
    ) -> UploadURL? {
        guard case .tus(let url)? = UploadCheckpoint(execution.kept, of: source)?.way,
            url.destination == upload.to.destination
        else { return nil }
        return url
    }

    // MARK: Requests

    private func create() async throws -> Step {
        let url = requests.upload.to
        var headers = [("Tus-Resumable", Self.version), ("Upload-Length", "\(size)")]
        if !requests.upload.headers.contains(where: { $0.name.lowercased() == "upload-metadata" }) {
            headers.append(("Upload-Metadata", requests.upload.tusMetadata))
        }
        let record = await requests.send(.POST, url, headers, withholding: ["content-type"])
        try checkVersion(record, url)
        if let failure = requests.failure(record, of: .POST, url) { throw failure }
        guard let location = record.header("location") else {
            throw refusal("POST \(url.textForPeople) was answered \(record.status ?? 0) without a Location; is it tus?")
        }
        guard let place = url.resolving(location), place.destination == url.destination else {
            throw refusal(
                "POST \(url.textForPeople) has put the upload at another destination "
                    + "(\(HTTPHeaderRedaction.shown(url: String(location.prefix(300))))), for which neither credentials "
                    + "nor limits are meant; a server behind a proxy must be told the URL that its clients use")
        }
        try await execution.leave(.tus(place), of: source.identity)
        execution.progress(offset: 0, total: size)
        return size == 0 ? .done(Self.placed(record, at: place)) : .append(place, from: 0)
    }

    private func ask(_ url: UploadURL) async throws -> Step {
        let record = await requests.send(
            .HEAD, url, [("Tus-Resumable", Self.version)], withholding: ["content-type", "upload-metadata"])
        try checkVersion(record, url)
        switch record.status {
        case 403?, 404?, 410?: return .create
        case 423?: return .wait(url, else: Self.locked(requests, record, .HEAD, url))
        default: if let failure = requests.failure(record, of: .HEAD, url) { throw failure }
        }
        guard let offset = Self.number(record, "upload-offset") else {
            throw refusal("HEAD \(url.textForPeople) was answered without an Upload-Offset; is it tus?")
        }
        // Another file's upload: this one's is gone.
        if let length = Self.number(record, "upload-length"), length != size { return .create }
        guard offset <= size else { return .create }
        execution.canResume()
        execution.progress(offset: offset, total: size)
        return offset == size ? .done(Self.placed(record, at: url)) : .append(url, from: offset)
    }

    private func append(_ url: UploadURL, from offset: Int64, mayAsk: Bool) async throws -> Step {
        let headers = [
            ("Tus-Resumable", Self.version), ("Upload-Offset", "\(offset)"),
            ("Content-Type", "application/offset+octet-stream"),
        ]
        let record = await requests.send(
            .PATCH, url, headers, withholding: ["upload-metadata"], body: .unread(source), from: offset, size: size)
        if mayAsk, record.lostKeptConnection, execution.command.idempotent, !Task.isCancelled { return .ask(url) }
        if record.status == nil, let failure = requests.failure(record, of: .PATCH, url) { throw failure }
        try checkVersion(record, url)
        switch record.status {
        case 404?, 410?: return .create
        case 409?: return .ask(url)
        case 423?: return .wait(url, else: Self.locked(requests, record, .PATCH, url))
        default: if let failure = requests.failure(record, of: .PATCH, url) { throw failure }
        }
        guard Self.number(record, "upload-offset") == size else { return .ask(url) }
        execution.progress(offset: size, total: size)
        return .done(Self.placed(record, at: url))
    }

    // MARK: Answers

    private func checkVersion(_ record: HTTPRecord, _ url: UploadURL) throws {
        guard record.status == 412 else { return }
        let versions = record.header("tus-version").map { "tus \($0.prefix(80))" } ?? "another version of tus"
        throw refusal(
            "\(url.textForPeople) speaks \(versions), and Sluice tus \(Self.version); upload by another protocol")
    }

    private static func locked(
        _ requests: UploadRequests, _ record: HTTPRecord, _ method: HTTPMethod, _ url: UploadURL
    ) -> any Error {
        guard let failure = requests.failure(record, of: method, url) as? Failure else { return CancellationError() }
        var locked = Failure(.link, reason: failure.reason, retryAfter: failure.retryAfter ?? lockedRetry)
        locked.isAnswer = true
        return locked
    }

    private func refusal(_ reason: String) -> Failure {
        var failure = Failure(.final, reason: reason)
        failure.isAnswer = true
        return failure
    }

    private func standstill(_ why: String) -> Failure {
        Failure(.command, reason: "the tus upload to \(requests.upload.to.textForPeople) does not get on: \(why)")
    }

    private static func number(_ record: HTTPRecord, _ name: String) -> Int64? {
        record.header(name).flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }

    private static func placed(_ record: HTTPRecord, at url: UploadURL) -> HTTPRecord {
        var record = record
        record.head?.headers.replaceOrAdd(name: "location", value: url.text)
        return record
    }
}

extension UploadPayload {
    /// `Upload-Metadata`: keys with values in base64. Names as tus-js-client and most servers have them.
    fileprivate var tusMetadata: String {
        let type = headers.first { $0.name.lowercased() == "content-type" }?.value
        let filetype = type ?? MediaType.of(fileName: fileName)
        return "filename \(Base64.encode(fileName.utf8)),filetype \(Base64.encode(filetype.utf8))"
    }
}
