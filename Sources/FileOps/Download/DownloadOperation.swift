package import Commands
internal import Glibc
package import HTTPClient
package import Operations
internal import S3
package import Transfers

/// Downloads a URL into a file, which appears under its name when it is whole. See ``DownloadPayload`` for
/// the payload, and ``DownloadTransfer`` for one execution.
///
/// The bytes are written to a part file beside the target. Any worker continues it after a lost connection, a
/// preemption or the death of all processes (``DownloadRequestRules``).
package struct DownloadOperation: CommandOperation {
    package let type = CommandType.download
    package var rule: PayloadRule { PayloadRule(isIdempotent: true, destination: "/url") }

    let transport: any RequestTransport
    let credentials: CredentialStore
    let evidence: DestinationEvidence
    /// Permissions that no downloaded file gets: the umask of the process that calls ``inspect(_:)``.
    let umask: UInt32
    private let signatures = S3Signatures()

    package init(
        transport: any RequestTransport, credentials: CredentialStore, evidence: DestinationEvidence, umask: UInt32
    ) {
        self.transport = transport
        self.credentials = credentials
        self.evidence = evidence
        self.umask = umask
    }

    package func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        var download = try DownloadPayload(payload)
        download.to = try download.to.absolutePath()
        download.mode = download.mode.map { $0 & ~umask }
        download.newMode &= ~umask
        return PayloadAttributes(
            destination: download.url.fileDestination, idempotent: true, total: download.size ?? 0,
            payload: download.json)
    }

    package func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        let download = try Self.payload(of: execution)
        do {
            return try await execute(download, execution)
        } catch is CancellationError {
            throw CommandFailure.stopped("the download of \(download.url.displayText)")
        }
    }

    private static func payload(of execution: CommandExecution) throws(CommandFailure) -> DownloadPayload {
        do {
            var download = try DownloadPayload(try JSONValue(parsing: execution.payload))
            download.to = try download.to.absolutePath()
            return download
        } catch {
            throw CommandFailure(.final, reason: "the payload of this download cannot be used: \(error)")
        }
    }

    private func execute(_ download: DownloadPayload, _ execution: CommandExecution) async throws -> [UInt8]? {
        let target = try await CopyTarget.following(download.target(contentDisposition: nil))
        let queue = BlockingIO.copies.queue(of: target.path)
        if execution.claim > 1, let result = try await published(download, target, queue, execution) { return result }
        if !download.isNamedByServer, [.keep, .fail].contains(download.overwrite),
            try await queue.run({ _ in try target.exists() })
        {
            await queue.cleanUp {
                for path in target.temporaryPaths(execution.id, before: execution.claim) { unlink(path) }
            }
            return try DownloadResult.ofExisting(target, download)
        }
        let condition = download.ifChanged ? try await queue.recordedValidators(of: target, download.url) : nil
        let checkpoint = DownloadCheckpoint(execution.checkpoint)
        let file = try await DownloadFile(at: target, queue, execution, checkpoint)
        do {
            let requests = RedirectedRequest(
                execution: execution, headers: download.headers, transport: transport, credentials: credentials,
                evidence: evidence, isConfined: false)
            let transfer = DownloadTransfer(
                download, condition, checkpoint, file, requests, try s3Client(download, execution))
            let result = try await transfer.run()
            evidence.recordSuccess(at: download.url.destination)
            return result
        } catch {
            if keepsPart(after: error, execution) {
                // Without a checkpoint no `cleanup` would delete it.
                await file.removeIfEmpty()
            } else if await file.remove() {
                // Otherwise a `cleanup` deletes the part.
                try? await execution.saveCheckpoint([])
            }
            throw error
        }
    }

    /// Signs the requests; nil where the source is not an object of S3.
    private func s3Client(
        _ download: DownloadPayload, _ execution: CommandExecution
    ) throws(CommandFailure) -> S3DownloadClient? {
        guard let source = download.s3 else { return nil }
        let endpoint = source.endpoint.destination
        let client = S3Client(
            execution: execution, origin: download.url.origin, endpoint: endpoint,
            authority: try credentials.authority(at: endpoint, region: source.region), signatures: signatures,
            transport: transport, evidence: evidence)
        return S3DownloadClient(source: source, headers: download.headers, client: client)
    }

    /// The result where an earlier execution has published the file and died before it could report that.
    private func published(
        _ download: DownloadPayload, _ target: CopyTarget, _ queue: FileSystemQueue, _ execution: CommandExecution
    ) async throws -> [UInt8]? {
        let size = try await queue.run { _ -> Int64? in
            guard TargetRecord(of: target.path)?.command == execution.id else { return nil }
            var status = stat()
            return stat(target.path, &status) == 0 ? Int64(status.st_size) : nil
        }
        guard let size else { return nil }
        execution.progress(offset: size, total: size)
        // The checksum of the payload was compared before the file got its name.
        let checksums = download.checksum.map { [$0] } ?? []
        return DownloadResult(
            counts: DownloadCheckpoint(execution.checkpoint)?.counts ?? DownloadCounts(),
            end: .init(
                path: target.path,
                completion: DownloadCompletion(length: size, checksums: checksums, isUnverified: false))
        ).json
    }

    /// Whether a later execution can continue the part.
    private func keepsPart(after error: any Error, _ execution: CommandExecution) -> Bool {
        guard !Task.isCancelled || execution.isReleased else { return false }
        guard let failure = error as? CommandFailure else { return execution.isReleased }
        let isLast = execution.command.retries >= execution.command.retryLimit
        return failure.fault != .final && !(failure.fault == .command && isLast)
    }
}
