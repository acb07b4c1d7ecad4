package import Commands

package struct Expiry: Sendable, Equatable {
    package var cancelled: [StatusEvent]
    package var ownersToNotify: [ClaimedRow]
    package var next: Timestamp?

    package init(cancelled: [StatusEvent], ownersToNotify: [ClaimedRow], next: Timestamp?) {
        self.cancelled = cancelled
        self.ownersToNotify = ownersToNotify
        self.next = next
    }
}
