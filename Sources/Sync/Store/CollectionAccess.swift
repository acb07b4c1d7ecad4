internal import Commands
internal import Host
internal import Synchronization

/// A collection in the hands of one execution, on a thread of its own: a merge may take many seconds, and no
/// other call waits for it.
final class CollectionAccess: Sendable {
    private let directory: CollectionDirectory
    private let name: String
    private let lock: Mutex<CollectionLock?>
    private let thread = SerialThread(named: "sluice-sync")
    private let opened = Mutex<CollectionStore?>(nil)

    /// - Parameter lock: of the collection.
    init(_ directory: CollectionDirectory, _ name: String, _ lock: CollectionLock) {
        self.directory = directory
        self.name = name
        self.lock = Mutex(lock)
    }

    /// Runs `body` with the collection, which is made where there is none. It is not cut short by a
    /// cancellation.
    /// - Throws: ``CommandFailure``
    func use<Value: Sendable>(_ body: @escaping @Sendable (CollectionStore) throws -> Value) async throws -> Value {
        try await thread.run { [self] in try run(body) }
    }

    private func run<Value: Sendable>(_ body: (CollectionStore) throws -> Value) throws -> Value {
        do {
            return try opened.withLock { opened in
                let store = try opened ?? CollectionStore(directory, name)
                opened = store
                return try body(store)
            }
        } catch let failure as CommandFailure {
            throw failure
        } catch let error as CollectionError {
            throw error.failure
        } catch {
            throw CollectionError(error, directory.file(name)).failure
        }
    }

    /// As ``use(_:)`` for a collection that exists.
    /// - Returns: nil where there is none.
    func ifExists<Value: Sendable>(
        _ body: @escaping @Sendable (CollectionStore) throws -> Value
    ) async throws -> Value? {
        guard directory.exists(name) else { return nil }
        return try await use(body)
    }

    /// Drops a page that was not committed, closes the file, releases the lock and ends the
    /// thread; returns when that is done.
    /// - Parameter keepsStage: another execution may go on with the staged pages.
    func close(keepsStage: Bool) async {
        await thread.run { [self] in
            opened.withLock { opened in
                // The next sync of the collection drops the pages that cannot be dropped now.
                if keepsStage { try? opened?.rollbackPage() } else { try? opened?.dropStage() }
                opened = nil
            }
            // The next sync of the collection may begin at once.
            lock.withLock { $0 = nil }
        }
        await thread.close()
    }
}
