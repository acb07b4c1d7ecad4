package import Commands
package import HTTPClient
internal import NIOHTTP1
package import Work

/// Sends a file to a URL by PUT, POST or a protocol that resumes (``ResumableUpload``), or copies it to a `file:` URL
/// (``FileCopy``). See ``UploadPayload`` for what a payload says, and for how the protocol is found. A source that is
/// to go goes after the destination was asked (``DeliveryCheck``).
///
/// Everything that can be checked before the first byte is checked at the start of ``execute(_:)`` rather than in a
/// phase of its own, which would cost every small file a second commit; what fails there is not ambiguous.
package struct UploadOperation: CommandOperation {
    package let type = CommandType.upload

    let transport: any RequestTransport
    /// ``HTTPConfiguration/lockWaits``
    let lockWaits: [Duration]
    let credentials: CredentialStore
    let resumes: ResumeRules
    let timing: UploadTiming
    private let submission: Submission
    private let discovery = TusDiscovery()
    let chunks = ChunkSizes()
    let evidence = DestinationEvidence()

    /// What ``inspect(_:)`` is told of the process that submits.
    package struct Submission: Sendable {
        /// Permissions that a copy to a `file:` URL does not get.
        package var umask: UInt32
        /// The file goes into the spool next, which finds out how large it is.
        package var isSpooled: Bool

        package init(umask: UInt32 = 0, isSpooled: Bool = false) {
            self.umask = umask
            self.isSpooled = isSpooled
        }
    }

    package init(
        configuration: HTTPConfiguration = HTTPConfiguration(), credentials: CredentialStore = CredentialStore(),
        resumes: ResumeRules = ResumeRules(), timing: UploadTiming = UploadTiming(),
        submission: Submission = Submission()
    ) {
        self.init(
            transport: HTTPTransport(configuration: configuration), lockWaits: configuration.lockWaits,
            credentials: credentials, resumes: resumes, timing: timing, submission: submission)
    }

    init(
        transport: any RequestTransport, lockWaits: [Duration], credentials: CredentialStore, resumes: ResumeRules,
        timing: UploadTiming, submission: Submission = Submission()
    ) {
        self.submission = submission
        self.transport = transport
        self.lockWaits = lockWaits
        self.credentials = credentials
        self.resumes = resumes
        self.timing = timing
    }

    // MARK: Submit

    package func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        var upload = try UploadPayload(payload)
        try upload.resolveFile()
        let file = try SourceFile(path: upload.file, requiringSize: !submission.isSpooled)
        upload.settleMode(of: file, umask: submission.umask)
        let source = file.identity
        if let recorded = upload.source, let difference = source.difference(from: recorded) {
            throw PayloadError(.source, "\(upload.file) is not the file that “source” describes: \(difference)")
        }
        upload.source = source
        upload.settle(size: source.size)
        upload.resolveDirectory()
        let to = upload.to
        var facts = PayloadAttributes(
            destination: to.scheme == .file ? .file(at: to.filePath) : to.destination,
            idempotent: upload.isIdempotent, total: source.size,
            payload: upload.json)
        facts.identity = upload.identity
        return facts
    }

    // MARK: Execution

    package func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        let upload = try Self.payload(of: execution)
        switch upload.to.scheme {
        case .file:
            do {
                return try await FileCopy(upload: upload, execution: execution).run()
            } catch is CancellationError {
                throw Self.stopped("the copy to \(upload.to.textForPeople)")
            }
        case .http, .https: return try await send(upload, execution)
        }
    }

    /// Of what was told to stop before anything was delivered: nobody needs to ask what has become of it.
    static func stopped(_ what: String) -> CommandFailure {
        CommandFailure(.link, reason: "\(what) was stopped before it began")
    }

    static func payload(of execution: CommandExecution) throws(CommandFailure) -> UploadPayload {
        do {
            var upload = try UploadPayload(try JSONValue(parsing: execution.payload))
            // Inspection did both; a payload that came another way is treated alike.
            try upload.resolveFile()
            upload.resolveDirectory()
            return upload
        } catch {
            throw CommandFailure(.final, reason: "the payload of this upload cannot be used: \(error)")
        }
    }

    private func send(_ upload: UploadPayload, _ execution: CommandExecution) async throws -> [UInt8]? {
        let credential = credential(for: upload)
        let opened: OpenedSource
        do {
            opened = try await BlockingIO.sources.run(at: upload.file) { try OpenedSource(upload, credential) }
        } catch let missing as MissingSource {
            if let result = try await confirmDelivery(upload, execution) { return result }
            throw missing.failure
        } catch is CancellationError {
            throw Self.stopped("the upload to \(upload.to.textForPeople)")
        }
        var requests = UploadRequests(
            upload: upload, execution: execution, credential: opened.credential, transport: transport,
            evidence: evidence)
        requests.upload.settle(size: opened.source.identity.size)
        if requests.upload.transferProtocol == nil {
            requests.upload.transferProtocol = try await protocolFound(for: requests, opened.source.identity)
        }
        let isGuess = upload.transferProtocol == nil && requests.upload.transferProtocol == .put
        requests.upload.resolveDirectory()
        if requests.upload.transferProtocol == .put { try await askFirst(&requests, opened.source.identity) }
        let outcome =
            switch requests.upload.transferProtocol ?? .put {
            case .put: ResumableUpload.Outcome.wholeOnly(isOurs: false)
            case .tus: try await tus(opened.source, requests)
            case .contentRange: try await contentRange(opened.source, requests)
            }
        let (record, question): (HTTPRecord, DeliveryQuestion?)
        switch outcome {
        case .complete(let answer, let way):
            (record, question) = (answer, DeliveryQuestion(way, target: requests.upload.to))
        case .wholeOnly(let isOurs):
            record = try await put(opened, requests, withholding: isOurs ? ContentRangeRequests.conditions : []) {
                isGuess ? Self.gatewayHint : nil
            }
            question = DeliveryQuestion(requests.upload, answered: record)
        }
        evidence.accepted(upload.to.destination)
        guard upload.removeSource else { return requests.result(record, removal: nil) }
        return requests.result(record, removal: try await remove(opened.source, requests, record, question))
    }

    /// Sends no whole file to a destination that refused the last one for a reason of its own: asks by HEAD whether it
    /// still does, and lets the body wait for its word.
    private func askFirst(_ requests: inout UploadRequests, _ source: SourceIdentity) async throws {
        let url = requests.upload.to
        guard source.size >= Self.minQuestionedSize, evidence.refuses(url.destination) else { return }
        requests.expectsContinue = true
        let record = await requests.send(.HEAD, url, withholding: ["content-type"])
        guard var failure = requests.failure(record, of: .HEAD, url) as? CommandFailure else { return }
        // Nothing of the file has left.
        failure.ambiguous = false
        switch failure.fault {
        case .credential, .destination, .link: throw failure
        // It would answer the file alike.
        case .command where record.status == 503: throw failure
        // What it says of this URL is the upload's to find out.
        case .command, .final, .reset: return
        }
    }

    /// A smaller file costs no more than the question.
    private static let minQuestionedSize: Int64 = 64 << 10

    /// The protocol of a payload that leaves it open: the one that an earlier execution has begun with, or what the
    /// destination is known to understand.
    private func protocolFound(
        for requests: UploadRequests, _ source: SourceIdentity
    ) async throws -> UploadPayload.TransferProtocol {
        switch UploadCheckpoint(requests.execution.checkpoint, of: source)?.way {
        case .tus: return .tus
        case .contentRange: return .contentRange
        case .copy, nil: break
        }
        let url = requests.upload.to
        switch resumes.resume(at: url.destination) {
        case .contentRange: return .contentRange
        case .tus: return .tus
        case nil: break
        }
        let answer = try await discovery.ask(requests)
        guard answer.speaksTus else { return .put }
        if let limit = answer.maxSize, let refusal = TusDialect.tooLarge(source.size, limit: limit, url) {
            throw refusal
        }
        return .tus
    }

    // MARK: One request

    /// The whole file in one request.
    /// - Parameter hint: what is added to a final refusal.
    private func put(
        _ opened: OpenedSource, _ requests: UploadRequests, withholding withheld: Set<String>, hint: () -> String?
    ) async throws -> HTTPRecord {
        let (size, upload) = (opened.source.identity.size, requests.upload)
        requests.execution.progress(offset: 0, total: size)
        let method = HTTPMethod(rawValue: upload.method.rawValue)
        let record = await requests.send(
            method, upload.to, requests.contentType, withholding: withheld, body: opened.body, size: size)
        if let failure = requests.failure(record, of: method, upload.to) {
            guard var failure = failure as? CommandFailure, failure.fault == .final, let status = record.status,
                (400..<500).contains(status)
            else { throw failure }
            if record.header("tus-resumable") != nil {
                failure.reason += "; this destination speaks tus: name the protocol tus and submit again"
            } else if let hint = hint() {
                failure.reason += hint
            }
            throw failure
        }
        requests.execution.progress(offset: size, total: size)
        return record
    }

    /// Of a destination that was asked by OPTIONS and named no tus: a gateway may have answered in its place.
    private static let gatewayHint =
        "; OPTIONS was answered there without tus headers: if it is a tus endpoint behind a gateway, submit with "
        + "--protocol tus, or set destination.<name>.resume: tus in sluice.yaml"

    /// A header in the payload is more precise than a rule for the destination.
    func credential(for upload: UploadPayload) -> Credential? {
        guard let credential = credentials[upload.to.destination] else { return nil }
        let name = credential.headerName.lowercased()
        return upload.headers.contains { $0.name.lowercased() == name } ? nil : credential
    }
}
