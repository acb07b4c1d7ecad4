internal import Commands
package import Host
package import Store
internal import Wire

/// The verbs and readings of a queue as functions that block: each stands once, for the command line, the API, the pages
/// and the library. A verb sends its own hints, after its transaction.
///
/// A reading leaves out shards that cannot be read; a verb fails with the `StoreError` of its shard.
package struct QueueAccess: Sendable {
    package let store: any CommandStore
    /// For what lies beside the store.
    let directory: DataDirectory
    /// Lost where no coordinator runs, which then reads the store at its start.
    let hint: @Sendable (Hint.Kind, [CommandID]) -> Void

    init(
        _ store: any CommandStore, in directory: DataDirectory,
        hint: @escaping @Sendable (Hint.Kind, [CommandID]) -> Void
    ) {
        self.store = store
        self.directory = directory
        self.hint = hint
    }

    /// Of a process without a client: a hint makes a socket of its own, where a coordinator runs.
    package init(_ store: any CommandStore, in directory: DataDirectory) {
        self.init(store, in: directory) { HintSender.send($0, $1, in: directory) }
    }

    /// Of a process that collects its hints.
    package init(_ store: any CommandStore, in directory: DataDirectory, _ hints: PendingHints) {
        self.init(store, in: directory) { kind, ids in for id in ids { hints.add(kind, id) } }
    }
}

extension SluiceClient {
    /// Of the store of this client. Its hints go over the socket of the client.
    package var access: QueueAccess { QueueAccess(store, in: directory) { [batcher] in batcher.send($0, $1) } }

    /// Runs a verb or a reading on a thread of the client.
    package func access<Value: Sendable>(
        _ body: @escaping @Sendable (QueueAccess) throws(StoreError) -> Value
    ) async throws -> Value {
        let access = access
        return try await read { _ throws(StoreError) in try body(access) }
    }
}
