package import Commands
package import HTTPClient
internal import NIOHTTP1
package import Operations
package import Transfers

/// Sends a file to a URL by PUT, POST or a resumable protocol (``ResumableUpload``), or copies it to a
/// `file:` URL (``FileCopy``). See ``UploadPayload`` for the payload and for the choice of the protocol. A
/// source that is to be removed is deleted once the destination has confirmed the delivery
/// (``DeliveryCheck``).
///
/// All checks before the first byte are at the start of ``execute(_:)``, and their failures are not
/// ambiguous. A phase of its own for them would cost every small file a second commit.
package struct UploadOperation: CommandOperation {
    package let type = CommandType.upload
    package var rule: PayloadRule { PayloadRule(destination: "/to") }

    let transport: any RequestTransport
    /// ``HTTPConfiguration/lockRetryDelays``
    let lockRetryDelays: [Duration]
    let credentials: CredentialStore
    let resumes: ResumeRules
    var timing = UploadTiming()
    private let submission: Submission
    private let tusSupport = TusSupportCache()
    let chunks = ChunkSizes()
    let evidence: DestinationEvidence
    /// The responses that an upload makes stale; nil: none are kept.
    package var responses: (any ResponseInvalidation)?
    /// Of the sources of confined uploads.
    package var confinement = Confinement()

    /// How the process that calls ``inspect(_:)`` submits.
    package struct Submission: Sendable {
        /// The umask of the process: permissions that a copy to a `file:` URL does not get.
        package var umask: UInt32
        /// The file is copied into the spool next, which determines its size.
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
            transport: HTTPTransport(configuration: configuration), lockRetryDelays: configuration.lockRetryDelays,
            credentials: credentials, resumes: resumes, submission: submission)
        self.timing = timing
        confinement = configuration.confinement
    }

    package init(
        transport: any RequestTransport, lockRetryDelays: [Duration], credentials: CredentialStore,
        resumes: ResumeRules = ResumeRules(), submission: Submission = Submission(),
        evidence: DestinationEvidence = DestinationEvidence()
    ) {
        self.submission = submission
        self.evidence = evidence
        self.transport = transport
        self.lockRetryDelays = lockRetryDelays
        self.credentials = credentials
        self.resumes = resumes
    }

    // MARK: Submit

    package func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        var upload = try UploadPayload(payload)
        try upload.resolveFile()
        let file = try SourceFile(path: upload.file, requiringSize: !submission.isSpooled)
        upload.recordMode(of: file, umask: submission.umask)
        let source = file.identity
        if let recorded = upload.source, let difference = source.difference(from: recorded) {
            throw PayloadError(.source, "\(upload.file) is not the file that “source” describes: \(difference)")
        }
        upload.source = source
        upload.chooseProtocol(size: source.size)
        upload.resolveDirectory()
        let to = upload.to
        var attributes = PayloadAttributes(
            destination: to.scheme == .file ? .file(at: to.filePath) : to.destination,
            idempotent: upload.isIdempotent, total: source.size,
            payload: upload.json)
        attributes.identity = upload.identity
        return attributes
    }

    // MARK: Execution

    package func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        let upload = try Self.payload(of: execution)
        switch upload.to.scheme {
        case .file:
            do {
                return try await FileCopy(upload: upload, execution: execution).run()
            } catch is CancellationError {
                throw CommandFailure.stopped("the copy to \(upload.to.displayText)")
            }
        case .http, .https: return try await send(upload, execution)
        }
    }

    static func payload(of execution: CommandExecution) throws(CommandFailure) -> UploadPayload {
        do {
            var upload = try UploadPayload(try JSONValue(parsing: execution.payload))
            // The inspection at submit has done both already, unless the payload was submitted without it.
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
            opened = try await BlockingIO.sources.run(at: upload.file) { [directories = confinement.sources] in
                try OpenedSource(upload, credential, beneath: directories)
            }
        } catch let missing as MissingSource {
            if let result = try await confirmDelivery(upload, execution) { return result }
            throw missing.failure
        } catch is CancellationError {
            throw CommandFailure.stopped("the upload to \(upload.to.displayText)")
        }
        if let objection = evidence.objection(toFileOf: opened.source.identity.size, at: upload.to.destination) {
            throw objection
        }
        var requests = UploadRequests(
            upload: upload, execution: execution, credential: opened.credential, transport: transport,
            evidence: evidence)
        requests.upload.chooseProtocol(size: opened.source.identity.size)
        if requests.upload.transferProtocol == nil {
            requests.upload.transferProtocol = try await chosenProtocol(for: requests, opened.source.identity)
        }
        let isGuess = upload.transferProtocol == nil && requests.upload.transferProtocol == .put
        requests.upload.resolveDirectory()
        if requests.upload.transferProtocol == .put { try await queryBeforeUpload(&requests, opened.source.identity) }
        let outcome =
            switch requests.upload.transferProtocol ?? .put {
            case .put: ResumableUpload.Outcome.wholeOnly(isOurs: false)
            case .tus: try await tus(opened.source, requests)
            case .contentRange: try await contentRange(opened.source, requests)
            }
        let (record, query): (HTTPRecord, DeliveryQuery?)
        switch outcome {
        case .complete(let answer, let resumePoint):
            (record, query) = (answer, DeliveryQuery(resumePoint, target: requests.upload.to))
        case .wholeOnly(let isOurs):
            record = try await put(opened, requests, withholding: isOurs ? ContentRangeRequests.conditions : []) {
                isGuess ? Self.gatewayHint : nil
            }
            query = DeliveryQuery(requests.upload, answered: record)
        }
        evidence.recordSuccess(at: upload.to.destination, size: opened.source.identity.size)
        await responses?.invalidate(method: "PUT", requests.upload.to, ResponseHead(200))
        guard upload.removeSource else { return requests.result(record, removal: nil) }
        return requests.result(record, removal: try await remove(opened.source, requests, record, query))
    }

    /// Precedes a whole file by a HEAD, if the destination refused the last file for a reason of its own. If
    /// the HEAD succeeds, the body waits for `100 Continue`.
    private func queryBeforeUpload(_ requests: inout UploadRequests, _ source: SourceIdentity) async throws {
        let url = requests.upload.to
        guard source.size >= Self.minQueriedSize, evidence.refusedLastCommand(at: url.destination) else { return }
        requests.expectsContinue = true
        let record = await requests.send(.HEAD, url, withholding: ["content-type"])
        guard var failure = requests.failure(record, of: .HEAD, url) as? CommandFailure else { return }
        // Nothing of the file has left.
        failure.ambiguous = false
        switch failure.fault {
        case .credential, .destination, .link: throw failure
        // The destination would answer the file in the same way.
        case .command where record.status == 503: throw failure
        // The answer concerns this URL only, and the upload handles it.
        case .command, .final, .reset: return
        }
    }

    /// Sending a smaller file costs no more than the query.
    private static let minQueriedSize: Int64 = 64 << 10

    /// The protocol for a payload that does not name one: that of an earlier execution, or the one that the
    /// destination supports.
    private func chosenProtocol(
        for requests: UploadRequests, _ source: SourceIdentity
    ) async throws -> UploadPayload.TransferProtocol {
        switch UploadCheckpoint(requests.execution.checkpoint, of: source)?.resumePoint {
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
        let answer = try await tusSupport.support(for: requests)
        guard answer.speaksTus else { return .put }
        if let limit = answer.maxSize, let refusal = TusDialect.tooLarge(source.size, limit: limit, url) {
            throw refusal
        }
        return .tus
    }

    // MARK: One request

    /// Sends the whole file in one request.
    /// - Parameter hint: returns a text that is added to a final refusal.
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
            } else if Self.gatewayStatuses.contains(status), let hint = hint() {
                failure.reason += hint
            }
            throw failure
        }
        requests.execution.progress(offset: size, total: size)
        return record
    }

    /// How a tus endpoint answers a request that is not tus: it knows neither the URL nor the method. Any other refusal has
    /// another cause.
    private static let gatewayStatuses: Set<Int> = [404, 405, 412]

    /// For a destination whose answer to OPTIONS did not mention tus: a gateway may have answered instead.
    private static let gatewayHint =
        "; OPTIONS was answered there without tus headers: if it is a tus endpoint behind a gateway, submit with "
        + "--protocol tus, or set destination.<name>.resume: tus in sluice.yaml"

    /// The credential for the destination, unless the payload sets its header.
    func credential(for upload: UploadPayload) -> Credential? {
        guard let credential = credentials[upload.to.destination] else { return nil }
        let name = credential.headerName.lowercased()
        return upload.headers.contains { $0.name.lowercased() == name } ? nil : credential
    }
}

/// The delays before an upload queries its destination again.
package struct UploadTiming: Sendable, Equatable {
    /// Before a tus upload that seems to have vanished is queried a second time.
    package var vanishedRecheckDelay: Duration = .seconds(1)
    /// Between queries whether an upload that was answered 202 has been stored. Together they are a minute.
    package var acceptedRecheckDelays: [Duration] = [
        .milliseconds(250), .milliseconds(750), .seconds(2), .seconds(5), .seconds(10), .seconds(20), .seconds(22),
    ]
    /// Before a destination that contradicts its own success is queried again, because a replica may lag
    /// behind.
    package var contradictionRecheckDelays: [Duration] = [.seconds(1)]

    package init() {}
}
