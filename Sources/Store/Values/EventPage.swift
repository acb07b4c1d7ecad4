package import Commands

/// Transitions of a shard, and how far the numbers of the shard are settled.
///
/// The numbers of a store may have holes: a transaction that is rolled back never gives its numbers again. A transaction
/// that is still open may have a number below others that are committed.
package struct EventPage: Sendable, Equatable {
    /// In the order of their numbers. Some may have numbers above ``complete``.
    package var events: [StatusEvent]
    /// The page lacks no transition up to this number: a missing number was never given, or its transition was pruned. A
    /// number that is missing above it may belong to a transaction that is still open.
    package var complete: Int64
    /// At most ``complete``. Up to this number, transitions may have been pruned. A number that is missing above it, up to
    /// ``complete``, was never given.
    package var prunedThrough: Int64

    package init(_ events: [StatusEvent], complete: Int64, prunedThrough: Int64) {
        self.events = events
        self.complete = complete
        self.prunedThrough = prunedThrough
    }

    /// A page of a store whose numbers have no holes: every missing number is of a transition that was pruned.
    /// - Parameters:
    ///   - seq: the number behind which the page begins.
    ///   - limit: the number of transitions that were asked for; where it is reached, the shard may have more.
    ///   - newest: the number of the newest transition, read before the page.
    package init(withoutHoles events: [StatusEvent], after seq: Int64, limit: Int, newest: Int64) {
        let last = events.last?.transition.seq
        let complete = events.count < limit ? max(newest, last ?? 0) : last ?? min(seq, newest)
        self.init(events, complete: complete, prunedThrough: complete)
    }
}
