internal import Commands
internal import Host
internal import Store

/// Reads older transitions from the store, in pages, on threads of its own.
struct LogReader: Sendable {
    private static let pageSize = 1000

    private let store: any CommandStore
    private let threads = [BlockingThread(named: "door-log-1"), BlockingThread(named: "door-log-2")]

    init(_ store: any CommandStore) { self.store = store }

    func close() { for thread in threads { thread.close() } }

    /// The next transitions after a position, at least one page of one shard.
    func page(after position: LogPosition, to target: LogPosition) async throws(StoreError) -> LogPage {
        let thread = threads.randomElement() ?? threads[0]
        let result = await withCheckedContinuation { continuation in
            thread.perform { [store] in
                continuation.resume(
                    returning: Result { () throws(StoreError) in
                        try Self.read(store, after: position, to: target)
                    })
            }
        }
        return try result.get()
    }

    private static func read(
        _ store: any CommandStore, after position: LogPosition, to target: LogPosition
    ) throws(StoreError) -> LogPage {
        var end = position
        var events: [StatusEvent] = []
        for shard in position.numbers.indices where events.count < pageSize {
            guard end.numbers[shard] < target.numbers[shard] else {
                // The store was restored from a backup: a gap.
                end.numbers[shard] = target.numbers[shard]
                continue
            }
            let after = end.numbers[shard]
            // A shard that is damaged is a gap.
            let read = try store.ifUsable { () throws(StoreError) in
                try store.events(shard: shard, after: after, limit: pageSize)
            }
            let wanted = (read ?? []).prefix { $0.transition.seq <= target.numbers[shard] }
            events += wanted
            let isFull = wanted.count == pageSize
            end.numbers[shard] = isFull ? wanted.last?.transition.seq ?? after : target.numbers[shard]
        }
        return LogPage(from: position, to: end, events)
    }
}
