internal import Commands

extension CommandStore {
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
