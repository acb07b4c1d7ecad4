internal import Commands
internal import Exec
internal import Fetch
package import FileOps
package import Operations
internal import S3
internal import Settings
internal import Sync
internal import Transfers
internal import Webhook

/// The operations that Sluice includes.
package enum BuiltInOperations {
    /// The registry for workers and for programs that check payloads. Threads, HTTP client and certificates
    /// are created with the first upload, so the registry itself costs almost nothing.
    ///
    /// - Parameters:
    ///   - own: operations of another program. They replace built-in ones of the same type.
    ///   - submission: how the process that checks uploads submits them.
    package static func registry(
        _ configuration: OperationsConfiguration = OperationsConfiguration(), and own: [any CommandOperation] = [],
        submission: UploadOperation.Submission = UploadOperation.Submission()
    ) -> OperationRegistry {
        let transport = HTTPTransport(configuration: configuration.http)
        let evidence = DestinationEvidence()
        let responses = ResponseStoreAccess(directory: configuration.cache, maxBytes: configuration.maxCacheBytes)
        var request = RequestOperation(
            transport: transport, credentials: configuration.credentials, evidence: evidence, umask: submission.umask)
        request.responses = responses
        request.confinement = configuration.http.confinement
        var upload = UploadOperation(
            transport: transport, lockRetryDelays: configuration.http.lockRetryDelays,
            credentials: configuration.credentials, resumes: configuration.resumes, submission: submission,
            evidence: evidence)
        upload.responses = responses
        upload.confinement = configuration.http.confinement
        let s3 = S3Operation(
            transport: transport, credentials: configuration.credentials, evidence: evidence,
            isSpooled: submission.isSpooled)
        var builtIn: [any CommandOperation] = [
            NoopOperation(), request, upload,
            DownloadOperation(
                transport: transport, credentials: configuration.credentials, evidence: evidence,
                umask: submission.umask),
            FetchOperation(
                transport: transport, credentials: configuration.credentials, evidence: evidence,
                store: responses),
            s3, CleanupOperation(s3: s3),
            SyncOperation(
                transport: transport, credentials: configuration.credentials, evidence: evidence,
                collections: configuration.collections),
            WebhookOperation(
                transport: transport, endpoints: configuration.webhooks, credentials: configuration.credentials,
                evidence: evidence, states: configuration.webhookStates),
        ]
        if configuration.exec.isEnabled { builtIn.append(ExecOperation(configuration: configuration.exec)) }
        var registry = OperationRegistry(
            own + builtIn.filter { operation in !own.contains { $0.type == operation.type } })
        registry.fileSystem = { Destination(url: $0) }
        return registry
    }
}
