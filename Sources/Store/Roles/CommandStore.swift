package import Commands
package import Host

/// Keeps the commands. The store is the truth; every message between processes is a hint.
///
/// All calls block, and a write waits up to 10 s for other writes (``WriteTimeout``): call them from a thread
/// of your own, never from the cooperative pool.
///
/// Its roles are protocols of their own, so that code which only reads says so. Two implementations share one
/// conformance suite: ``SQLiteStore`` and ``MemoryStore``. The upkeep of files and the condition
/// of the whole store are not roles: see ``StoreMaintenance`` and ``StoreHealth``.
package protocol CommandStore:
    SubmitStore, ReadingStore, QueueStore, ExecutionStore, RequestStore, SettingStore, PruningStore,
    ScheduleStore, UploadStore, InboxStore
{}

extension CommandStore {
    /// Opens a session in every usable shard.
    package func open(_ session: Session) throws(StoreError) {
        for shard in 0..<shardCount { try ifUsable { () throws(StoreError) in try open(session, shard: shard) } }
    }

    /// Settings whose key starts with `prefix`; none where shard 0 is unusable. For what only shows settings.
    package func settingsIfUsable(prefix: String) throws(StoreError) -> [String: String] {
        let found = try ifUsable { () throws(StoreError) in try settings(prefix: prefix) }
        return found ?? [:]
    }

    /// Commands in the order of their ids, at most `limit` (≤ 1,000), however far they have to be looked for.
    package func list(_ filter: CommandFilter, after: CommandID?, limit: Int) throws(StoreError) -> [Command] {
        try page(filter, order: .oldestFirst, after: after, limit: limit, until: nil).commands
    }

    /// The one command that a person names by a part of its id.
    /// - Throws: `notFound`; `ambiguous` with a sentence that lists up to five of the commands.
    package func id(of part: CommandIDPart) throws(StoreError) -> CommandID {
        if let id = part.id { return id }
        let found = try find(part, limit: Self.maxListed + 1)
        guard let first = found.first else {
            throw StoreError(.notFound, "there is no command whose id begins or ends with \(part), or contains it")
        }
        guard found.count > 1 else { return first.id }
        let now = clock.now()
        let listed = found.prefix(Self.maxListed).map { command in
            "\(command.id) (\(command.type), \(Self.age(now - command.createdAt)) old)"
        }
        throw StoreError(
            .ambiguous,
            "\(part) is a part of \(found.count > Self.maxListed ? "more than \(Self.maxListed)" : "\(found.count)") ids: "
                + listed.joined(separator: ", ") + "; give more of its characters")
    }

    private static var maxListed: Int { 5 }

    private static func age(_ duration: Duration) -> String {
        let seconds = max(duration.components.seconds, 0)
        switch seconds {
        case ..<120: return "\(seconds) s"
        case ..<7200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3600) h"
        default: return "\(seconds / 86_400) days"
        }
    }

    /// Messages that one call carries over, about.
    private static var maxMessages: Int { 2048 }
    private static var pageSize: Int { 256 }

    /// Carries the messages of a shard's outbox to the shards of their receivers.
    /// - Parameter locked: shards that are not written to now. Their messages stay.
    package func carryMessages(from shard: Int, except locked: Set<Int>) throws(StoreError) -> MessageRound {
        var round = MessageRound()
        var unreachable = locked
        var number: Int64 = 0
        for _ in 0..<Self.maxMessages / Self.pageSize {
            let page = try outbox(shard: shard, after: number, limit: Self.pageSize)
            guard let last = page.last else { return round }
            number = last.number
            var received: [ShardMessage] = []
            for (target, messages) in Dictionary(grouping: page, by: { $0.receiver.shard(of: shardCount) }).sorted(
                by: { $0.key < $1.key }) where !unreachable.contains(target)
            {
                do throws(StoreError) {
                    round.effects.append(try receive(messages, shard: target))
                    received += messages
                } catch {
                    round.problem = round.problem ?? error
                    unreachable.insert(target)
                }
            }
            if !received.isEmpty { try remove(received, shard: shard) }
        }
        round.hasMore = true
        return round
    }
}

/// The work of one call of ``CommandStore/carryMessages(from:except:)``.
package struct MessageRound: Sendable {
    package var effects = Effects()
    /// Another call has more to carry.
    package var hasMore = false
    /// The first error of a shard. The others went on.
    package var problem: StoreError?
}

/// The threads on which a process reads a store: a bounded number, because readings of one shard take turns anyway.
///
/// A read never waits for another process. A write does, for up to 10 s (``WriteTimeout``), so no write may run here.
package final class StoreReaders: BodyPerformer {
    private let store: any CommandStore
    private let pool: BlockingPool

    /// - Parameter maxThreads: reads at once; the others wait.
    package init(_ store: any CommandStore, maxThreads: Int = 16) {
        self.store = store
        pool = BlockingPool(named: "sluice-read", maxThreads: maxThreads)
    }

    /// Reads on one of the threads, without blocking the caller.
    /// - Parameter isUrgent: before the reads that wait, which may be lists or sweeps: for a look-up of one command.
    package func read<Value: Sendable>(
        isUrgent: Bool = false, _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await run(isUrgent: isUrgent) { [store] () throws(StoreError) in try body(store) }
    }

    package func perform(isUrgent: Bool, _ body: @escaping Body) { pool.perform(isUrgent: isUrgent, body) }
}
