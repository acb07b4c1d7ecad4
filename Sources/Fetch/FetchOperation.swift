package import Commands
package import HTTPClient
package import Operations
package import Transfers

/// Brings the current response to a GET into the store of responses. See ``FetchPayload`` for the payload,
/// ``FetchExecution`` for one execution and ``CacheRules`` for the rules.
///
/// Readers look into the store themselves (``StoredFetch``) and need no worker for it. A failure of the link
/// is a failure of the command, which waits; the reader shows the stored response meanwhile.
package struct FetchOperation: CommandOperation {
    package let type = CommandType.fetch
    package var rule: PayloadRule { PayloadRule(isIdempotent: true, destination: "/url") }

    package let transport: any RequestTransport
    package let credentials: CredentialStore
    package let evidence: DestinationEvidence
    package let store: ResponseStoreAccess

    package init(
        transport: any RequestTransport, credentials: CredentialStore, evidence: DestinationEvidence,
        store: ResponseStoreAccess
    ) {
        self.transport = transport
        self.credentials = credentials
        self.evidence = evidence
        self.store = store
    }

    package func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        let fetch = try FetchPayload(payload)
        return PayloadAttributes(destination: fetch.url.fileDestination, idempotent: true, payload: fetch.json)
    }

    package func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        let fetch: FetchPayload
        do {
            fetch = try FetchPayload(try JSONValue(parsing: execution.payload))
        } catch {
            throw CommandFailure(.final, reason: "the payload of this fetch cannot be used: \(error)")
        }
        do {
            let run = FetchExecution(
                payload: fetch, execution: execution, transport: transport, credentials: credentials,
                evidence: evidence, store: store)
            let result = try await run.run()
            evidence.recordSuccess(at: fetch.url.destination)
            return result
        } catch is CancellationError {
            throw CommandFailure.stopped("the fetch of \(fetch.url.displayText)")
        }
    }
}
