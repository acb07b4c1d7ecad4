internal import Commands
package import Store
internal import Wire

/// The verbs and readings of a queue as functions that block: each stands once, for the command line, the API, the pages
/// and the library. A verb sends its own hints, after its transaction.
///
/// A reading leaves out shards that cannot be read; a verb fails with the `StoreError` of its shard.
package struct QueueAccess: Sendable {
    package let store: any CommandStore
    /// Lost where no coordinator runs, which then reads the store at its start.
    let hint: @Sendable (Hint.Kind, [CommandID]) -> Void

    init(_ store: any CommandStore, hint: @escaping @Sendable (Hint.Kind, [CommandID]) -> Void) {
        self.store = store
        self.hint = hint
    }

    /// Of a process without a client: a hint makes a socket of its own, where a coordinator runs.
    package init(_ store: any CommandStore, in directory: DataDirectory) {
        self.init(store) { HintSender.send($0, $1, in: directory) }
    }
}

extension SluiceClient {
    /// Of the store of this client. Its hints go over the socket of the client.
    package var access: QueueAccess { QueueAccess(store) { [batcher] in batcher.send($0, $1) } }

    /// Runs a verb or a reading on a thread of the client.
    package func access<Value: Sendable>(
        _ body: @escaping @Sendable (QueueAccess) throws(StoreError) -> Value
    ) async throws -> Value {
        let access = access
        return try await read { _ throws(StoreError) in try body(access) }
    }
}
