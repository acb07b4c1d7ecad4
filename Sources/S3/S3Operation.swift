package import Commands
package import HTTPClient
internal import NIOHTTP1
package import Operations
package import Transfers

/// Stores a file as an object of S3: by one PutObject, by a multipart upload that any worker resumes, or by the
/// PUT of a presigned URL. See ``S3Payload``.
///
/// ``S3Upload`` is one execution with an access key. A source that is to be removed is deleted once the endpoint
/// states its length for the object.
package struct S3Operation: CommandOperation {
    package let type = CommandType.s3
    package var rule: PayloadRule { PayloadRule(destination: "/endpoint") }

    let transport: any RequestTransport
    let credentials: CredentialStore
    let evidence: DestinationEvidence
    /// The file is copied into the spool next, which determines its size.
    let isSpooled: Bool
    private let signatures = S3Signatures()

    package init(
        transport: any RequestTransport, credentials: CredentialStore, evidence: DestinationEvidence,
        isSpooled: Bool = false
    ) {
        self.isSpooled = isSpooled
        self.transport = transport
        self.credentials = credentials
        self.evidence = evidence
    }

    // MARK: Submit

    package func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        var put = try S3Payload(payload)
        put.file = try put.file.absolutePath()
        try put.resolveKey()
        let source = try SourceFile(path: put.file, requiringSize: !isSpooled).identity
        if let recorded = put.source, let difference = source.difference(from: recorded) {
            throw PayloadError(.source, "\(put.file) is not the file that “source” describes: \(difference)")
        }
        put.source = source
        _ = try put.plan(size: source.size)
        var attributes = PayloadAttributes(
            destination: put.destination, idempotent: put.isIdempotent, total: source.size, payload: put.json)
        attributes.identity = put.identity
        return attributes
    }

    // MARK: Execution

    package func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        let payload: S3Payload
        do {
            payload = try S3Payload(try JSONValue(parsing: execution.payload))
        } catch {
            throw CommandFailure(.final, reason: "the payload of this upload to S3 cannot be used: \(error)")
        }
        if case .presigned(let presigned) = payload.target {
            return try await put(payload, to: presigned, execution)
        }
        let (client, requests) = try requester(payload, execution)
        let source: SourceFile
        do {
            source = try await Self.open(payload)
        } catch let failure as CommandFailure where failure.fault == .final {
            if let result = try await confirmDelivery(client, requests) { return result }
            if let checkpoint = S3Checkpoint(execution.checkpoint), let id = checkpoint.uploadID,
                await client.discard(id, requests)
            {
                try? await execution.saveCheckpoint(checkpoint.aborted(at: .now).bytes)
            }
            throw failure
        }
        let plan = try Self.plan(payload, source)
        var upload = S3Upload(client: client, requests: requests, source: source, plan: plan)
        let object = try await upload.run()
        evidence.recordSuccess(at: payload.destination)
        var result = S3Result(object, requests, size: upload.plan.size)
        result.parts = upload.plan.count
        result.isResumed = upload.isResumed
        result.restarts = upload.checkpoint.restarts
        if payload.removeSource { result.removal = try await remove(source, client, requests) }
        return result.bytes
    }

    func requester(
        _ payload: S3Payload, _ execution: CommandExecution
    ) throws(CommandFailure) -> (S3Client, S3Requests) {
        let address: S3Address
        do throws(PayloadError) {
            guard let found = try payload.address() else { throw PayloadError(.data, "it names no bucket") }
            address = found
        } catch {
            throw CommandFailure(.final, reason: "the payload of this upload to S3 cannot be used: \(error)")
        }
        guard case .object(let endpoint, let region, _, _, _) = payload.target else {
            throw CommandFailure(.final, reason: "the payload of this upload to S3 cannot be used: it names no bucket")
        }
        let scheme = address.origin.isEncrypted ? "https" : "http"
        let client = S3Client(
            execution: execution, origin: "\(scheme)://\(address.host)", endpoint: endpoint.destination,
            authority: try credentials.authority(at: endpoint.destination, region: region), signatures: signatures,
            transport: transport, evidence: evidence)
        let requests = S3Requests(
            address: address, payload: payload, command: execution.id,
            contentType: MediaType.of(fileName: payload.file.lastPathName))
        return (client, requests)
    }

    private static func open(_ payload: S3Payload) async throws -> SourceFile {
        do {
            return try await BlockingIO.sources.run(at: payload.file) {
                try SourceFile(unchanged: payload.file, payload.source)
            }
        } catch is CancellationError {
            throw CommandFailure.stopped("the upload of \(payload.file)")
        }
    }

    private static func plan(_ payload: S3Payload, _ source: SourceFile) throws(CommandFailure) -> PartPlan {
        do throws(PayloadError) { return try payload.plan(size: source.identity.size) } catch {
            throw CommandFailure(.final, reason: error.message)
        }
    }

    // MARK: Presigned

    /// Sends exactly the headers that the URL has signed.
    private func put(
        _ payload: S3Payload, to presigned: S3PresignedURL, _ execution: CommandExecution
    ) async throws -> [UInt8] {
        let source = try await Self.open(payload)
        let size = try Self.plan(payload, source).size
        let client = S3Client(
            execution: execution, origin: presigned.url.origin, endpoint: payload.destination,
            authority: .presigned(presigned), signatures: signatures, transport: transport, evidence: evidence)
        var request = AWSRequest(method: "PUT", host: "", path: presigned.url.path, headers: payload.headers)
        if let type = payload.contentType { request.headers.append(HTTPField("Content-Type", type)) }
        let body = S3Body(content: size == 0 ? .none : .unread(source), range: 0..<size)
        var attempt = S3Attempt(.put)
        attempt.authority = .presigned(expiry: presigned.expiry)
        execution.progress(offset: 0, total: size)
        while true {
            switch try await client.send(request, body: body, attempt, { $0.storedObject() }) {
            case .accepted(let object):
                execution.progress(offset: size, total: size)
                evidence.recordSuccess(at: payload.destination)
                var result = S3Result(object, url: presigned.url.displayText, size: size)
                // The URL permits no query for the object, so the answer is trusted.
                if payload.removeSource { result.removal = await SourceRemovalResult(deleting: source) }
                return result.bytes
            case .decided(.sendAgain, _): attempt.wasDamaged = true
            case .decided(.fail(let failure), _): throw failure
            case .decided(_, let refusal):
                throw CommandFailure(
                    .command, reason: "PUT \(presigned.url.displayText) was answered \(refusal.text)")
            }
        }
    }

    // MARK: The removal of the source

    /// Deletes the source once the endpoint states the length of the object.
    /// - Throws: ``CommandFailure`` where the endpoint contradicts its answer to the upload.
    private func remove(
        _ source: SourceFile, _ client: S3Client, _ requests: S3Requests
    ) async throws -> SourceRemovalResult {
        let outcome: S3Client.Outcome<S3Object?>
        do { outcome = try await client.send(requests.head(), S3Attempt(.head), { $0.object() }) } catch {
            return SourceRemovalResult(unverified: "\(source.path) was kept: \(error.words)")
        }
        switch outcome {
        case .accepted(let object?) where object.size == nil || object.size == source.identity.size: break
        // A key may have the right to write and none to read: the answer to the upload is trusted.
        case .decided(_, let refusal) where refusal.isDenied || [405, 501].contains(refusal.status): break
        case .accepted(let object):
            let found = object?.size.map { "the object has \($0) bytes" } ?? "there is no such object"
            // Another client may have replaced the object since, and a second upload would replace that one.
            if let object, object.command != client.execution.id.description {
                return SourceRemovalResult(unverified: "\(source.path) was kept: the endpoint says that \(found)")
            }
            var failure = CommandFailure(
                .command,
                reason: "the upload to \(requests.address.url) was accepted, but the endpoint says that \(found); "
                    + "the source is kept")
            failure.isAnswer = true
            throw failure
        case .decided:
            return SourceRemovalResult(
                unverified: "\(source.path) was kept: the endpoint does not say whether it has the object")
        }
        return await SourceRemovalResult(deleting: source)
    }

    /// Finds out whether an earlier execution has stored the object, deleted the source as requested, and died
    /// before it could report that. Then the endpoint has the only copy.
    /// - Returns: the result; nil where the object is not this command's.
    private func confirmDelivery(_ client: S3Client, _ requests: S3Requests) async throws -> [UInt8]? {
        let execution = client.execution
        guard requests.payload.removeSource, execution.claim > 1, let source = requests.payload.source,
            case .accepted(let object?) = try await client.send(requests.head(), S3Attempt(.head), { $0.object() }),
            object.size == source.size, object.command == execution.id.description
        else { return nil }
        var result = S3Result(
            S3StoredObject(etag: object.etag, versionID: object.versionID), requests, size: source.size)
        result.removal = SourceRemovalResult(problem: nil)
        return result.bytes
    }
}

extension S3Operation {
    /// Aborts the multipart upload of a command that has ended, until none of its parts is listed.
    /// - Throws: ``CommandFailure``. A refusal is charged, because the rights of the access key may be corrected.
    package func abort(_ uploadID: String, of payload: S3Payload, _ execution: CommandExecution) async throws {
        let (client, requests) = try requester(payload, execution)
        switch try await client.abort(uploadID, requests) {
        case .gone: evidence.recordSuccess(at: payload.destination)
        case .hasParts:
            throw CommandFailure(
                .command, reason: "the endpoint still lists parts of an aborted upload to \(requests.address.url)")
        case .refused(let failure?, let refusal) where failure.fault != .final && !refusal.isDenied: throw failure
        case .refused(_, let refusal):
            let remedy = refusal.isDenied ? ", so give the access key the right s3:AbortMultipartUpload" : ""
            var failure = CommandFailure(
                .command,
                reason:
                    "the abort of an upload to \(requests.address.url) was answered \(refusal.text); its parts cost "
                    + "money until it is aborted\(remedy)")
            failure.isAnswer = true
            throw failure
        }
    }
}
