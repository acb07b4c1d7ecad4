internal import Store

/// The state of one sequence of updates: reads the store when an event arrives, and every second, because an
/// event may be lost and a change on this side has none.
actor CollectionFollower {
    private static let pollInterval: Duration = .seconds(1)

    private let collection: CollectionHandle
    /// That of the last step; nil before it.
    private var revision: Int64?
    private var wakes: AsyncStream<Void>?
    private var sources: [Task<Void, Never>] = []

    init(_ collection: CollectionHandle, since revision: Int64?) {
        self.collection = collection
        self.revision = revision
    }

    deinit { for source in sources { source.cancel() } }

    /// - Returns: nil at the end of the task or of the client.
    func next() async throws -> CollectionUpdate? {
        // The subscription comes first, so that the event of a sync between the two is not missed.
        let wakes = try self.wakes ?? subscribe()
        while !Task.isCancelled, !collection.client.isClosed {
            if let update = try await read() {
                revision = update.revision
                return update
            }
            guard await wakes.first(where: { _ in true }) != nil else { return nil }
        }
        return nil
    }

    private func read() async throws -> CollectionUpdate? {
        do {
            guard let revision, let changes = try await collection.changes(since: revision) else {
                return .all(try await all())
            }
            return changes.isEmpty ? nil : .changes(changes)
        } catch let error as SluiceError where error.code == .noSuchCollection {
            // One that is made anew counts its revisions from 1 again.
            revision = nil
            return nil
        }
    }

    private func all() async throws -> CollectionSnapshot {
        let snapshot = try await collection.records(limit: CollectionHandle.maxRecords + 1)
        guard snapshot.records.count <= CollectionHandle.maxRecords else {
            throw SluiceError(
                .invalid,
                "the collection “\(collection.name)” has more than \(CollectionHandle.maxRecords) records; read it with "
                    + "forEachRecord(_:), and follow it with updates(since:)")
        }
        return snapshot
    }

    private func subscribe() throws -> AsyncStream<Void> {
        let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let events = try collection.events()
        sources = [
            Task {
                for await _ in events { continuation.yield() }
            },
            Task {
                while (try? await Task.sleep(for: Self.pollInterval)) != nil { continuation.yield() }
            },
        ]
        self.wakes = wakes
        return wakes
    }
}
