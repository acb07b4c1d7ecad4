internal import Synchronization

/// Counts of the streams of events, for metrics.
package final class LiveStatistics: Sendable {
    /// The end of a stream that its client did not choose. The raw values are labels of metrics.
    package enum Drop: String, Sendable, CaseIterable {
        /// A write waited more than 5 s for the client.
        case slow
        /// The token or the session of the client was revoked, or has expired.
        case revoked
        /// The door had its maximum of streams, and another token had fewer of them.
        case displaced
        /// The store could not be read.
        case failed
    }

    /// Counts of one kind of stream.
    package struct Counts: Sendable, Equatable {
        /// Streams that are open now.
        package var subscribers = 0
        /// Frames that were sent, comments not counted.
        package var frames = 0
        /// Bytes that were sent, before the framing of HTTP.
        package var bytes = 0
        package var dropped: [Drop: Int] = [:]
        /// Requests that were refused with 429.
        package var refused = 0
    }

    private let state = Mutex<[StreamKind: Counts]>([:])

    package init() {}

    package subscript(_ kind: StreamKind) -> Counts { state.withLock { $0[kind] ?? Counts() } }

    func change(_ kind: StreamKind, _ change: (inout Counts) -> Void) {
        state.withLock { change(&$0[kind, default: Counts()]) }
    }
}

/// The value of `stream` in the query of `/api/v1/events`, and a label of metrics.
package enum StreamKind: String, Sendable, CaseIterable {
    /// The present state, for pages.
    case view
    /// The transitions, for programs.
    case log
}
