/// Whether the connection reads the next bytes of a response.
package enum ReadDecision: Sendable {
    case more
    /// The connection reads no more until ``HTTPConnection/resumeReading()``, so the peer's window closes. Bytes of
    /// the same read still arrive; ``more`` for them ends the pause.
    case pause
    /// The exchange needs no more: it ends with ``HTTPError/stopped``, and its connection is reset.
    case enough
}
