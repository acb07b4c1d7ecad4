package import Commands

/// The result of cancelling commands whose deadline has passed.
package struct Expiry: Sendable, Equatable {
    package var cancelled: [StatusEvent]
    /// Claimed commands whose workers must be told of the cancellation request.
    package var ownersToNotify: [ClaimedCommand]
    /// The next deadline.
    package var next: Timestamp?

    package init(cancelled: [StatusEvent], ownersToNotify: [ClaimedCommand], next: Timestamp?) {
        self.cancelled = cancelled
        self.ownersToNotify = ownersToNotify
        self.next = next
    }
}
