internal import Commands
internal import HTTPClient
internal import Operations
internal import Transfers

/// One execution of an `s3` with an access key: carries out the actions that ``S3Recovery`` decides, and saves
/// the checkpoint.
struct S3Upload {
    let client: S3Client
    let requests: S3Requests
    let source: SourceFile
    /// That of the upload that an earlier execution has created, or of a new one.
    let plan: PartPlan
    /// The checkpoint that an earlier execution has left.
    let saved: S3Checkpoint?
    var checkpoint: S3Checkpoint
    /// The object that HEAD has found to be this command's.
    private var found: S3Object?
    /// Parts that were acknowledged since the checkpoint was saved.
    var unsaved = 0
    /// A request has said that the upload does not exist.
    var isLost = false
    var isResumed = false

    init(client: S3Client, requests: S3Requests, source: SourceFile, plan: PartPlan) {
        self.client = client
        self.requests = requests
        self.source = source
        saved = S3Checkpoint(client.execution.checkpoint)
        let valid = saved.flatMap { $0.isValid(for: source.identity) ? $0 : nil }
        self.plan = valid?.plan ?? plan
        checkpoint = valid ?? S3Checkpoint(plan, of: source.identity)
    }

    var execution: CommandExecution { client.execution }
    var recovery: S3Recovery {
        S3Recovery(plan: plan, keyHasCommand: requests.address.key.contains(execution.id.description))
    }

    // MARK: The execution

    /// Stores the file as the object.
    /// - Throws: ``CommandFailure``; `CancellationError` where it was stopped.
    mutating func run() async throws -> S3StoredObject {
        do {
            let object = try await perform()
            execution.progress(offset: plan.size, total: plan.size)
            return object
        } catch {
            await leave(after: error)
            throw error
        }
    }

    private mutating func perform() async throws -> S3StoredObject {
        var action = recovery.first(saved, of: source.identity, acknowledged: checkpoint.acknowledged)
        if checkpoint.uploadID != nil {
            isResumed = true
            execution.canResume()
        }
        reportProgress()
        while true {
            try Task.checkCancellation()
            switch action {
            case .put: return try await put()
            case .create: action = try await create()
            case .listUploads: action = try await adoptUpload()
            case .listParts: action = try await compareParts()
            case .send(let numbers): action = try await send(numbers)
            case .complete:
                switch try await complete() {
                case .success(let object): return object
                case .failure(let next): action = next.action
                }
            case .inspectObject:
                let finding = try await inspect()
                action = recovery.afterObject(finding, isLost: isLost)
            case .restart: action = try await restart()
            case .succeed: return stored
            case .abort:
                // The upload of another file, or one that was given up before a person's retry.
                if let id = saved?.uploadID { try await client.abort(id, requests) }
                action = .stop
            case .stop:
                checkpoint = S3Checkpoint(plan, of: source.identity)
                action = plan.isSingle ? .put : .create
            }
        }
    }

    var stored: S3StoredObject { S3StoredObject(etag: found?.etag, versionID: found?.versionID) }

    /// Keeps the upload for a later execution, unless none will send its rest: the command was cancelled, or the
    /// source has changed.
    private mutating func leave(after error: any Error) async {
        var isDiscarded = Task.isCancelled && !execution.isReleased
        if !isDiscarded, (error as? CommandFailure)?.fault == .final { isDiscarded = await hasSourceChanged() }
        guard let id = checkpoint.uploadID, isDiscarded else {
            if unsaved > 0 { try? await save() }
            return
        }
        checkpoint = checkpoint.aborting()
        // Where another execution has the command now, the upload is that one's.
        guard (try? await save()) != nil else { return }
        guard await client.discard(id, requests) else { return }
        checkpoint = checkpoint.aborted(at: .now)
        try? await save()
    }

    private func hasSourceChanged() async -> Bool {
        let source = source
        do {
            try await BlockingIO.sources.run(at: source.path) { try source.requireUnchanged() }
            return false
        } catch {
            return (error as? CommandFailure)?.fault == .final
        }
    }

    mutating func save() async throws {
        unsaved = 0
        try await execution.saveCheckpoint(checkpoint.bytes)
    }

    func reportProgress() {
        execution.progress(offset: plan.bytes(of: checkpoint.acknowledged), total: plan.size)
    }

    // MARK: Requests

    func attempt(_ step: S3Step) -> S3Attempt {
        var attempt = S3Attempt(step)
        attempt.wasDenied = checkpoint.wasDenied
        attempt.restarts = checkpoint.restarts
        attempt.ifAbsent = requests.payload.ifAbsent
        return attempt
    }

    /// Sends a request whose decisions but failures the caller carries out.
    mutating func request<Value>(
        _ request: AWSRequest, body: S3Body = .none, _ attempt: S3Attempt,
        _ read: (S3Response) -> S3Answer<Value>
    ) async throws -> S3Client.Outcome<Value> {
        let outcome = try await client.send(request, body: body, attempt, read)
        guard case .decided(.fail(let failure), let refusal) = outcome else {
            checkpoint.wasDenied = false
            return outcome
        }
        // The first denial waits for the rights of the access key; the second one is final.
        if refusal.isDenied, !checkpoint.wasDenied {
            checkpoint.wasDenied = true
            try await save()
        }
        throw failure
    }

    /// A decision that ``S3Verdict`` does not take for this step.
    func unexpected(_ refusal: S3Refusal) -> CommandFailure {
        CommandFailure(.command, reason: "the upload to \(requests.address.url) was answered \(refusal.text)")
    }

    // MARK: One request

    private mutating func put() async throws -> S3StoredObject {
        let digest = try await digest(of: 0..<plan.size)
        var attempt = attempt(.put)
        while true {
            let outcome = try await request(
                requests.put(digest), body: try body(0..<plan.size, digest), attempt, { $0.storedObject() })
            switch outcome {
            case .accepted(let object): return object
            case .decided(.sendAgain, _): attempt.wasDamaged = true
            case .decided(.inspectThenFail(let failure), _):
                guard try await inspect() == .ours else { throw failure }
                return stored
            case .decided(_, let refusal): throw unexpected(refusal)
            }
        }
    }

    func digest(of range: Range<Int64>) async throws -> S3PartDigest {
        defer { reportProgress() }
        let (start, execution) = (range.lowerBound, execution)
        do {
            return try await S3PartReader(source: source).digest(
                of: range, .init(requests.payload.checksum, isEncrypted: requests.address.origin.isEncrypted)
            ) { execution.verifying(start + $0) }
        } catch is CancellationError {
            throw CommandFailure.stopped("the upload to \(requests.address.url)")
        }
    }

    func body(_ range: Range<Int64>, _ digest: S3PartDigest) throws -> S3Body {
        let checksum = requests.payload.checksum
        guard let hash = checksum.payloadHash(isEncrypted: requests.address.origin.isEncrypted, digest) else {
            throw CommandFailure(.command, reason: "\(source.path) has no SHA-256, which the signature needs")
        }
        return S3Body(content: range.isEmpty ? .none : .unread(source), range: range, hash: hash)
    }

    /// HEAD of the object. A key without the right to read finds none.
    mutating func inspect() async throws -> S3Recovery.Finding {
        switch try await client.send(requests.head(), attempt(.head), { $0.object() }) {
        case .accepted(nil): return .other
        case .accepted(let object?):
            let parts = checkpoint.sortedParts
            let origin = object.origin(
                command: execution.id.description, size: plan.size,
                tag: parts.count == plan.count ? S3Tag.composite(of: parts) : nil)
            guard origin == .ours else { return .other }
            found = object
            return .ours
        case .decided(_, let refusal) where refusal.isDenied: return .other
        case .decided(.fail(let failure), _): throw failure
        case .decided(_, let refusal): throw unexpected(refusal)
        }
    }
}
