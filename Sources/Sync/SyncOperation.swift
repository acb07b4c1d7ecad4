package import Commands
package import HTTPClient
internal import Host
package import Operations
package import Transfers

/// Brings a remote list into a local collection, in one transaction. See ``SyncPayload`` for the payload,
/// ``SyncRun`` for one execution and ``CollectionStore`` for the collection.
package struct SyncOperation: CommandOperation {
    package let type = CommandType.sync
    package var rule: PayloadRule { PayloadRule(isIdempotent: true, destination: "/url") }

    package let transport: any RequestTransport
    package let credentials: CredentialStore
    package let evidence: DestinationEvidence
    /// Nil where this process executes nothing.
    package let collections: CollectionDirectory?

    package init(
        transport: any RequestTransport, credentials: CredentialStore, evidence: DestinationEvidence,
        collections: CollectionDirectory?
    ) {
        self.transport = transport
        self.credentials = credentials
        self.evidence = evidence
        self.collections = collections
    }

    /// The wait for a collection that another command syncs.
    private static let lockWait: Duration = .seconds(2)

    package func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        let sync = try SyncPayload(payload)
        return PayloadAttributes(destination: sync.url.destination, idempotent: sync.isIdempotent, payload: sync.json)
    }

    package func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        let sync: SyncPayload
        do {
            sync = try SyncPayload(try JSONValue(parsing: execution.payload))
        } catch {
            throw CommandFailure(.final, reason: "the payload of this sync cannot be used: \(error)")
        }
        guard let collections else {
            throw CommandFailure(.final, reason: "this process has no data directory, so it has no collections")
        }
        let access = CollectionAccess(collections, sync.collection, try await lock(sync, collections))
        do {
            let run = try SyncRun(
                sync, access,
                RedirectedRequest(
                    execution: execution, headers: sync.headers, transport: transport, credentials: credentials,
                    evidence: evidence, isConfined: false))
            let result = try await run.run()
            await access.close(keepsStage: true)
            evidence.recordSuccess(at: sync.url.destination)
            return result
        } catch {
            await access.close(keepsStage: sync.pages.by == .cursor && Self.isContinued(after: error, execution))
            guard error is CancellationError else { throw error }
            throw CommandFailure.stopped("the sync of \(sync.url.displayText)")
        }
    }

    private func lock(_ sync: SyncPayload, _ collections: CollectionDirectory) async throws -> CollectionLock {
        let path = collections.lock(sync.collection)
        let lock = try await BlockingIO.copies.run(at: path) { () throws in
            do throws(SystemError) { return try CollectionLock.attempt(path) } catch {
                throw CommandFailure(.command, reason: "\(error)", retryAfter: .seconds(60))
            }
        }
        if let lock { return lock }
        // Not a failure of the link: nothing was asked.
        var failure = CommandFailure(
            .link, reason: "the collection is being synced: another command syncs “\(sync.collection)”",
            retryAfter: Self.lockWait)
        failure.isAnswer = true
        throw failure
    }

    /// Whether a later execution may go on with the staged pages.
    private static func isContinued(after error: any Error, _ execution: CommandExecution) -> Bool {
        guard !Task.isCancelled || execution.isReleased else { return false }
        guard let failure = error as? CommandFailure else { return execution.isReleased }
        let isLast = execution.command.retries >= execution.command.retryLimit
        return failure.fault != .final && !(failure.fault == .command && isLast)
    }
}
