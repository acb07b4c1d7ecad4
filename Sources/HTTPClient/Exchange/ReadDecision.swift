/// What becomes of the next bytes of a response.
package enum ReadDecision: Sendable {
    case more
    /// The connection reads no more until ``HTTPConnection/resumeReading()``, so the peer's window closes.
    case pause
    /// The rest is not wanted: the exchange ends as complete, and its connection is closed.
    case enough
}
