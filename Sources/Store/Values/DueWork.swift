package import Commands

/// The work of the coordinator that has come due, as one look finds it: for a store to which each question costs a round trip.
package struct DueWork: Sendable, Equatable {
    /// Shards with commands whose `notBefore` has come (``QueueStore/promoteDue(shard:limit:)``).
    package var promotions: [Int] = []
    /// Shards with effects that earlier transactions have left (``ExecutionStore/settle(shard:limit:)``).
    package var effects: [Int] = []
    /// Shards with messages to others (``QueueStore/outbox(shard:after:limit:)``).
    package var messages: [Int] = []
    /// Shards with commands whose deadline has passed (``QueueStore/passedDeadlines(shard:limit:)``).
    package var deadlines: [Int] = []
    /// Shards with schedules that fire (``ScheduleStore/fireSchedules(shard:_:limit:_:)``).
    package var schedules: [Int] = []
    /// The inbox has entries.
    package var hasInbox = false
    /// When the next of the rows that were found comes due; nil: none is known.
    package var next: Timestamp?

    package init() {}

    /// Nothing is due. `next` does not count.
    package var isEmpty: Bool {
        promotions.isEmpty && effects.isEmpty && messages.isEmpty && deadlines.isEmpty && schedules.isEmpty && !hasInbox
    }

    /// Takes in a row: a time that has come adds its shard, a later one may be the next.
    mutating func add(_ time: Timestamp?, of shard: Int, to shards: WritableKeyPath<DueWork, [Int]>, now: Timestamp) {
        guard let time else { return }
        if time <= now {
            self[keyPath: shards].append(shard)
        } else {
            next = min(next ?? time, time)
        }
    }
}
