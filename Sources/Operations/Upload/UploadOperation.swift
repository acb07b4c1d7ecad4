package import Commands
internal import NIOCore
internal import NIOHTTP1
package import Work

/// Sends a file to a URL by PUT, POST, ``TusUpload`` or ``RangeUpload``, or copies it to a `file:` URL (``FileCopy``). See
/// ``UploadPayload`` for what a payload says, and for how the protocol is found.
///
/// Everything that can be checked before the first byte is checked at the start of ``execute(_:)`` rather than in a phase of
/// its own, which would cost every small file a second commit; what fails there is not ambiguous.
package struct UploadOperation: Operation {
    package let type = "upload"

    private let transport: HTTPTransport
    private let credentials: CredentialStore
    private let resumes: ResumeRules
    private let discovery = TusDiscovery()

    package init(
        configuration: HTTPConfiguration = HTTPConfiguration(), credentials: CredentialStore = CredentialStore(),
        resumes: ResumeRules = ResumeRules()
    ) {
        transport = HTTPTransport(configuration: configuration)
        self.credentials = credentials
        self.resumes = resumes
    }

    // MARK: Submit

    package func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadFacts {
        var upload = try UploadPayload(payload)
        try upload.resolveFile()
        let source = try SourceFile(path: upload.file).identity
        if let recorded = upload.source, let difference = source.difference(from: recorded) {
            throw PayloadError(.source, "\(upload.file) is not the file that “source” describes: \(difference)")
        }
        upload.source = source
        upload.settle(size: source.size)
        upload.resolveDirectory()
        return PayloadFacts(
            destination: upload.to.destination, idempotent: upload.isIdempotent, total: source.size,
            payload: upload.json)
    }

    // MARK: Execution

    package func execute(_ execution: Execution) async throws -> [UInt8]? {
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
    static func stopped(_ what: String) -> Failure { Failure(.link, reason: "\(what) was stopped before it began") }

    static func payload(of execution: Execution) throws(Failure) -> UploadPayload {
        do {
            var upload = try UploadPayload(try JSONValue(parsing: execution.payload))
            // Inspection did both; a payload that came another way is treated alike.
            try upload.resolveFile()
            upload.resolveDirectory()
            return upload
        } catch {
            throw Failure(.final, reason: "the payload of this upload cannot be used: \(error)")
        }
    }

    private func send(_ upload: UploadPayload, _ execution: Execution) async throws -> [UInt8]? {
        let credential = credential(for: upload)
        let opened: Opened
        do {
            opened = try await BlockingIO.sources.run { try Opened(upload, credential) }
        } catch let missing as MissingSource {
            if let result = try await confirmDelivery(upload, execution) { return result }
            throw missing.failure
        } catch is CancellationError {
            throw Self.stopped("the upload to \(upload.to.textForPeople)")
        }
        var requests = UploadRequests(
            upload: upload, execution: execution, credential: opened.credential, transport: transport)
        requests.upload.settle(size: opened.source.identity.size)
        if requests.upload.transferProtocol == nil {
            requests.upload.transferProtocol = try await protocolFound(for: requests, opened.source.identity)
        }
        requests.upload.resolveDirectory()
        let record: HTTPRecord
        switch requests.upload.transferProtocol ?? .put {
        case .put: record = try await put(opened, requests)
        case .tus: record = try await TusUpload(requests: requests, source: opened.source).run()
        case .contentRange:
            record = try await RangeUpload(requests: requests, source: opened.source, whole: opened.body).run()
        }
        return HTTPResult.json(record, removal: await remove(opened.source, asked: upload.removeSource))
    }

    /// The protocol of a payload that leaves it open: the one that an earlier execution has begun with, or what the
    /// destination is known to understand.
    private func protocolFound(
        for requests: UploadRequests, _ source: SourceIdentity
    ) async throws -> UploadPayload.TransferProtocol {
        switch UploadCheckpoint(requests.execution.kept, of: source)?.way {
        case .tus: return .tus
        case .contentRange: return .contentRange
        case .copy, nil: break
        }
        if resumes.takesContentRange(requests.upload.to.destination) { return .contentRange }
        return try await discovery.speaksTus(requests) ? .tus : .put
    }

    /// The whole file in one request.
    private func put(_ opened: Opened, _ requests: UploadRequests) async throws -> HTTPRecord {
        let (size, upload) = (opened.source.identity.size, requests.upload)
        requests.execution.progress(offset: 0, total: size)
        let method = HTTPMethod(rawValue: upload.method.rawValue)
        let record = await requests.send(method, upload.to, Self.type(of: upload), body: opened.body, size: size)
        if let failure = requests.failure(record, of: method, upload.to) {
            guard var failure = failure as? Failure, failure.fault == .final, record.header("tus-resumable") != nil
            else { throw failure }
            failure.reason += "; this destination speaks tus: name the protocol tus and submit again"
            throw failure
        }
        requests.execution.progress(offset: size, total: size)
        return record
    }

    private func remove(_ source: SourceFile, asked: Bool) async -> SourceRemoval? {
        guard asked else { return nil }
        // Not to be kept from it by a cancel that comes too late: the destination has said yes.
        return await Task.detached {
            let problem = try? await BlockingIO.sources.run { source.remove() }
            return SourceRemoval(problem: problem ?? nil)
        }.value
    }

    /// A header in the payload is more precise than a rule for the destination.
    private func credential(for upload: UploadPayload) -> Credential? {
        guard let credential = credentials[upload.to.destination] else { return nil }
        let name = credential.headerName.lowercased()
        return upload.headers.contains { $0.name.lowercased() == name } ? nil : credential
    }

    /// What the producer says in a header is more precise.
    private static func type(of upload: UploadPayload) -> [(name: String, value: String)] {
        guard !upload.headers.contains(where: { $0.name.lowercased() == "content-type" }) else { return [] }
        return [("Content-Type", MediaType.of(fileName: upload.fileName))]
    }

    /// An earlier execution may have delivered the file, deleted it as asked, and died before it could say so. Then the
    /// destination has the whole file, and nobody else does.
    ///
    /// A tus upload is known by its place. Of anything else the destination must say that it got it after the submit
    /// (`Last-Modified`): a file of that size may be an older one. Where it does not say, the delivery is not believed.
    /// - Throws: where nobody can know now: the destination cannot be reached, or says to come again.
    private func confirmDelivery(_ upload: UploadPayload, _ execution: Execution) async throws -> [UInt8]? {
        guard upload.removeSource, execution.command.idempotent, upload.method == .put, execution.claim > 1,
            let source = upload.source
        else {
            return nil
        }
        let credential = credential(for: upload)
        let header: (name: String, value: String)?
        do {
            header = try await BlockingIO.sources.run { try credential?.header() }
        } catch {
            throw Failure(.credential, reason: "no credential for \(upload.to.destination): \(error)")
        }
        var requests = UploadRequests(
            upload: upload, execution: execution, credential: header, transport: transport)
        let record: HTTPRecord
        if let found = try await TusUpload.confirmation(requests, source) {
            record = found
        } else if upload.transferProtocol == .tus {
            return nil
        } else {
            if upload.transferProtocol == nil { requests.upload.transferProtocol = .put }
            requests.upload.resolveDirectory()
            record = await requests.send(.HEAD, requests.upload.to, Self.type(of: upload))
            if let passing = requests.passingFailure(record, of: .HEAD, requests.upload.to) { throw passing }
            guard record.status == 200, record.isComplete, record.header("content-length") == "\(source.size)",
                let modified = record.header("last-modified").flatMap({ RetryAfter.date($0) }),
                execution.mayHaveWritten(at: modified)
            else { return nil }
        }
        execution.progress(offset: source.size, total: source.size)
        return HTTPResult.json(record, removal: SourceRemoval(problem: nil))
    }
}

/// What is read from disk before a request begins.
private struct Opened: Sendable {
    let source: SourceFile
    let body: HTTPTransfer.Body
    let credential: (name: String, value: String)?

    /// Blocks.
    init(_ upload: UploadPayload, _ credential: Credential?) throws {
        source = try upload.openSource()
        do {
            self.credential = try credential?.header()
        } catch {
            throw Failure(.credential, reason: "no credential for \(upload.to.destination): \(error)")
        }
        let size = source.identity.size
        guard size > 0 else {
            body = .none
            return
        }
        var start = ByteBuffer()
        let count = size <= HTTPTransfer.smallFile ? Int(size) : HTTPTransfer.chunkSizes.lowerBound
        do {
            let source = source
            try start.writeWithUnsafeMutableBytes(minimumWritableBytes: count) {
                try source.read(into: .init(rebasing: $0.prefix(count)), at: 0)
            }
        } catch {
            throw Failure(.command, reason: "the source \(upload.file) cannot be read: \(error)")
        }
        guard start.readableBytes == count else {
            throw SourceFile.changed(upload.file, "while it was read: it ends after \(start.readableBytes) bytes now")
        }
        if Int64(count) == size {
            try source.requireUnchanged()
            body = .whole(start)
        } else {
            source.willReadFromStartToEnd()
            body = .file(source, start: start)
        }
    }
}
