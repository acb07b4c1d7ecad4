public import Commands
internal import Host
internal import Store
internal import Sync

extension SluiceClient {
    /// The names of the collections that `sync` keeps, sorted.
    /// - Throws: ``SluiceError`` `notPermitted` or `cannotWrite` where the directory cannot be read.
    public func collections() async throws -> [String] {
        let collections = CollectionDirectory(data: directory.path)
        return try await BlockingPool.shared.run { () throws(SluiceError) in
            try SluiceError.ofCollection { try collections.names() }
        }
    }

    /// A collection, which need not exist yet. Nothing is opened before the first call.
    ///
    /// A collection is filled by the commands of type `sync`: submit one with
    /// ``submit(_:payload:options:)`` and the payload `["url": …, "collection": …, "key": …]`.
    /// - Parameter name: 1 to 64 of a to z, 0 to 9 and the hyphen.
    public func collection(_ name: String) -> CollectionHandle { CollectionHandle(client: self, name: name) }
}

/// Reads and changes one collection: the local copy of a remote list. See ``SluiceClient/collection(_:)``.
///
/// Reading needs no worker and no network, and no reader waits for a sync: it sees the revision before or the
/// one behind it. Every function that uses the collection fails with ``SluiceError`` where it cannot:
/// `noSuchCollection`, `foreignStore`, `corrupt`, `tryAgain` or `cannotWrite`.
public struct CollectionHandle: Sendable {
    let client: SluiceClient
    /// The name of the collection.
    public let name: String

    /// The maximum of records of one call.
    public static let maxRecords = 1_000_000
    /// The maximum of changes that ``changes(since:)`` brings. A reader that is further behind reads all
    /// records.
    public static let maxChanges = 100_000

    private var directory: CollectionDirectory { CollectionDirectory(data: client.directory.path) }

    // MARK: Reading

    /// The records, all of one revision.
    /// - Parameters:
    ///   - columns: only records with these values in columns that the sync has named. The default is all
    ///     records.
    ///   - limit: the maximum number of records, from 1; the first ones by their keys. The default is
    ///     ``maxRecords``, which bounds the memory of this process.
    /// - Throws: ``SluiceError``; also `invalid` for a column that the collection does not have.
    public func records(
        where columns: [String: String] = [:], limit: Int = maxRecords
    ) async throws -> CollectionSnapshot {
        var query = CollectionQuery()
        query.columns = columns.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        query.limit = max(limit, 1)
        return try await read { [query] reader in
            var records: [CollectionRecord] = []
            let revision = try reader.query(query) { records.append(CollectionRecord($0)) }
            return CollectionSnapshot(revision: revision, records: records)
        }
    }

    /// Calls `body` with each record, in the order of the keys and all of one revision, in the memory of one
    /// record. It runs on a thread of the client, and may block.
    /// - Returns: the revision.
    /// - Throws: ``SluiceError``; the error of `body`, which ends the call.
    @discardableResult
    public func forEachRecord(_ body: @escaping @Sendable (CollectionRecord) throws -> Void) async throws -> Int64 {
        let result: Result<Int64, any Error> = try await read { reader in
            var failure: (any Error)?
            do {
                let revision = try reader.query(CollectionQuery()) { record in
                    do { try body(CollectionRecord(record)) } catch {
                        failure = error
                        throw error
                    }
                }
                return .success(revision)
            } catch {
                guard let failure else { throw error }
                return .failure(failure)
            }
        }
        return try result.get()
    }

    /// The record with a key; nil where there is none.
    /// - Parameter key: as ``CollectionRecord/key``, or without its prefix: `17`. Where a string and a number
    ///   have the same text, the number is the one.
    public func record(_ key: String) async throws -> CollectionRecord? {
        var query = CollectionQuery()
        (query.keys, query.limit) = ([key], 1)
        return try await read { [query] reader in
            var found: CollectionRecord?
            try reader.query(query) { found = CollectionRecord($0) }
            return found
        }
    }

    /// The records that were changed since a revision.
    /// - Parameter revision: that of an earlier ``CollectionSnapshot`` or ``CollectionChanges``.
    /// - Returns: nil where the changes are not kept any more, where they are more than ``maxChanges``, and
    ///   where the collection has not reached that revision; then read all records. A collection that was
    ///   deleted and made anew counts from 1 again: read all records after that too.
    public func changes(since revision: Int64) async throws -> CollectionChanges? {
        try await read { reader in
            guard let changes = try reader.changes(since: revision, limit: Self.maxChanges) else { return nil }
            return CollectionChanges(
                revision: changes.rev, changed: changes.changed.map(CollectionRecord.init), deleted: changes.deleted)
        }
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (CollectionReader) throws -> Value
    ) async throws -> Value {
        try await BlockingPool.shared.run { [directory, name] () throws(SluiceError) in
            try SluiceError.ofCollection { try body(try CollectionReader(directory, name)) }
        }
    }

    // MARK: Changing

    /// Inserts or replaces records, in one transaction. They count as changed on this side: the next sync
    /// replaces them, keeps them, or takes the newest, as its payload says (`merge`).
    /// - Parameters:
    ///   - records: objects that have the key.
    ///   - key: JSON Pointers to the key. Nil, the default: as the syncs of the collection have it; needed
    ///     for a collection that was never synced, which is made.
    /// - Throws: ``SluiceError``; also `invalid` for a record without a key, `tryAgain` while the collection
    ///   is being synced. Then no record is written.
    @discardableResult
    public func put(_ records: [JSONValue], key: [String]? = nil) async throws -> CollectionRevision {
        var lines: [UInt8] = []
        for record in records { lines += record.bytes + [0x0A] }
        return try await write { [lines] writer in try writer.put(lines: lines, key: key) }
    }

    /// Deletes records, in one transaction. A sync that reads the whole list brings those back that the
    /// remote still has.
    /// - Parameter keys: as for ``record(_:)``. One that does not exist is ignored.
    @discardableResult
    public func remove(_ keys: [String]) async throws -> CollectionRevision {
        // An error for a name that is not a collection: to remove from it makes none.
        try await read { _ in }
        return try await write { writer in try writer.remove(keys) }
    }

    private func write(
        _ body: @escaping @Sendable (CollectionWriter) throws -> CollectionWriter.Result
    ) async throws -> CollectionRevision {
        let result = try await BlockingPool.shared.run { [directory, name] () throws(SluiceError) in
            try SluiceError.ofCollection { try body(try CollectionWriter(directory, name)) }
        }
        return CollectionRevision(
            revision: result.rev, inserted: result.inserted, updated: result.updated, unchanged: result.unchanged,
            deleted: result.deleted)
    }

    // MARK: Observing

    /// The events `collection/<name>`: one after each sync that has changed records. They are hints, and may
    /// be lost; ``updates(since:)`` brings every change.
    /// - Throws: as ``SluiceClient/events(prefix:)``.
    public func events() throws -> AsyncFilterSequence<AsyncStream<SluiceEvent>> {
        let topic = "collection/\(name)"
        return try client.events(prefix: topic).filter { $0.topic == topic }
    }

    /// The records, and then each change of them: a sequence that does not end by itself.
    ///
    /// The first step has all records, at once, without a worker and without the network; for a collection
    /// that does not exist yet it comes when it does. Later steps come with the event of a sync, and for
    /// changes of other programs within a second. Steps join where the iteration is slow; none is lost. A
    /// collection of more than ``maxRecords`` throws `invalid` in the first step: read it with
    /// ``forEachRecord(_:)``, and follow it from that revision.
    /// - Parameter revision: of the records that the program has. Nil, the default: none. The first step is
    ///   then the changes since.
    /// - Returns: the steps. The sequence throws ``SluiceError`` where the collection cannot be read,
    ///   and ends where its task is cancelled or the client is closed.
    public func updates(since revision: Int64? = nil) -> AsyncThrowingStream<CollectionUpdate, any Error> {
        let follower = CollectionFollower(self, since: revision)
        return AsyncThrowingStream { try await follower.next() }
    }
}

extension SluiceError {
    /// Runs `body`, and gives an error of a collection its code.
    static func ofCollection<Value>(_ body: () throws -> Value) throws(SluiceError) -> Value {
        do {
            return try body()
        } catch let error as CollectionError {
            throw SluiceError(code(error.problem), error.description)
        } catch let error as SystemError {
            throw SluiceError(StoreError(error))
        } catch {
            throw SluiceError(.failed, "\(error)")
        }
    }

    private static func code(_ problem: CollectionError.Problem) -> Code {
        switch problem {
        case .missing: .noSuchCollection
        case .foreign: .foreignStore
        case .damaged: .corrupt
        case .busy, .changed: .tryAgain
        case .system: .cannotWrite
        case .invalid: .invalid
        }
    }
}
