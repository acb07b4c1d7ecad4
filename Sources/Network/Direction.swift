/// The way that the bytes of a transfer go, seen from this host. Raw values are the words in events.
package enum Direction: String, Sendable, CaseIterable {
    case up
    case down
}
