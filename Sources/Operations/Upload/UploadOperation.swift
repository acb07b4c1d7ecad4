package import Commands
internal import NIOCore
internal import NIOHTTP1
package import Work

/// Sends a file to a URL by PUT or POST, or copies it to a `file:` URL. See ``UploadPayload`` for what a payload says.
///
/// Everything that can be checked before the first byte is checked at the start of ``execute(_:)`` rather than in a phase of
/// its own, which would cost every small file a second commit; what fails there is not ambiguous.
package struct UploadOperation: Operation {
    package let type = "upload"

    /// Kept connections that one execution may find closed.
    private static let connectionsTried = 4

    private let transport: HTTPTransport
    private let credentials: CredentialStore

    package init(
        configuration: HTTPConfiguration = HTTPConfiguration(), credentials: CredentialStore = CredentialStore()
    ) {
        transport = HTTPTransport(configuration: configuration)
        self.credentials = credentials
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
        upload.resolveDirectory()
        return PayloadFacts(
            destination: upload.to.destination, idempotent: upload.isIdempotent, total: source.size,
            payload: upload.json)
    }

    // MARK: Execution

    package func execute(_ execution: Execution) async throws -> [UInt8]? {
        let upload = try Self.payload(of: execution)
        switch upload.to.scheme {
        case .file: return try await FileCopy(upload: upload, execution: execution).run()
        case .http, .https: return try await send(upload, execution)
        }
    }

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
            if let result = await confirmDelivery(upload, execution) { return result }
            throw missing.failure
        }
        let size = opened.source.identity.size
        execution.progress(offset: 0, total: size)
        let headers = headers(upload, execution, opened.credential)
        let method = HTTPMethod(rawValue: upload.method.rawValue)
        var record = HTTPRecord()
        for _ in 1...Self.connectionsTried {
            record = await transport.send(
                method, upload.to, headers: headers, body: opened.body, size: size, for: execution)
            // RFC 9110, section 9.2.2: a connection that was closed while it was idle is no failure of the request.
            guard record.wasNeverSeen || execution.command.idempotent && record.metStaleConnection,
                !Task.isCancelled
            else {
                break
            }
        }
        let verdict = HTTPVerdict(
            request: "\(upload.method.rawValue) \(upload.to.textForPeople)", destination: upload.to.destination,
            now: .now)
        if let failure = verdict.failure(record) {
            if record.head == nil || record.error is CancellationError { try Task.checkCancellation() }
            throw failure
        }
        execution.progress(offset: size, total: size)
        return HTTPResult.json(record, removal: await remove(opened.source, asked: upload.removeSource))
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

    private func headers(
        _ upload: UploadPayload, _ execution: Execution, _ credential: (name: String, value: String)?
    ) -> HTTPHeaders {
        var headers = HTTPHeaders()
        headers.reserveCapacity(upload.headers.count + 5)
        // A string of structured fields (RFC 9651): quoted.
        headers.add(name: "Idempotency-Key", value: "\"\(execution.id)\"")
        for header in upload.headers { headers.add(name: header.name, value: header.value) }
        if !headers.contains(name: "content-type") {
            headers.add(name: "Content-Type", value: MediaType.of(fileName: upload.fileName))
        }
        if !headers.contains(name: "user-agent") { headers.add(name: "User-Agent", value: "sluice") }
        if let credential { headers.replaceOrAdd(name: credential.name, value: credential.value) }
        return headers
    }

    /// An earlier execution may have delivered the file, deleted it as asked, and died before it could say so. Then the
    /// destination has the whole file, and nobody else does.
    private func confirmDelivery(_ upload: UploadPayload, _ execution: Execution) async -> [UInt8]? {
        guard upload.removeSource, execution.command.idempotent, upload.method == .put, execution.claim > 1,
            let source = upload.source
        else {
            return nil
        }
        let credential = credential(for: upload)
        var header: (name: String, value: String)?
        do { header = try await BlockingIO.sources.run { try credential?.header() } } catch { return nil }
        let headers = headers(upload, execution, header)
        let record = await transport.send(.HEAD, upload.to, headers: headers, body: .none, size: 0, for: execution)
        guard let head = record.head, head.status == .ok, record.isComplete,
            head.headers.first(name: "content-length") == "\(source.size)"
        else { return nil }
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
