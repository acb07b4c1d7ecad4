package import Commands
internal import Synchronization

/// Counts the bytes of one execution. Written by the operation, read by the worker 4 times a second.
package final class TransferMeter: Sendable {
    package struct Reading: Sendable, Equatable {
        /// Cumulative, of this execution.
        package var bytes: Int64 = 0
        package var direction = Direction.up
        package var offset: Int64 = 0
        package var total: Int64 = 0
        /// Bytes whose checksum has been computed, while that is what the execution does; nil at other times.
        package var verified: Int64?
        /// Another execution can go on from the offset.
        package var isResumable = false
        /// It was told to stop, and another execution may go on.
        package var isReleased = false
        /// It was released because its worker ends.
        package var isDrained = false
        /// Its pace has made it wait since the last ``TransferMeter/take()``.
        package var waited = false
        package var connection = Connection()

        /// Whether the peer has received the whole request, no byte has moved since an earlier reading, and the time to the
        /// first byte of the response still grows.
        package func isAwaitingResponse(since before: Reading) -> Bool {
            guard bytes == before.bytes, total == 0 || offset >= total, let now = connection.firstByte else {
                return false
            }
            return now > before.connection.firstByte ?? .zero
        }

        /// Bytes that were sent again since an earlier reading. A new connection counts from 0.
        package func resent(since before: Reading) -> Int64 {
            let (now, before) = (connection.retransmitted, before.connection.retransmitted)
            return now >= before ? now - before : now
        }
    }

    /// The kernel's measurements of the connection; nil where one is not known yet.
    package struct Connection: Sendable, Equatable {
        /// Bytes that were sent again.
        package var retransmitted: Int64 = 0
        /// Smoothed.
        package var roundTrip: Duration?
        package var minRoundTrip: Duration?
        /// From the end of the request to the first byte of the response; until that comes, the time so far.
        package var firstByte: Duration?
        /// The receiver has closed its TCP window.
        package var isWindowClosed = false

        package init() {}
    }

    private struct State {
        var reading = Reading()
        var taken = Reading()
    }

    private let state = Mutex(State())

    /// - Parameter direction: of the type of the command; received bytes make it `down`.
    package init(_ direction: Direction = .up, offset: Int64 = 0, total: Int64 = 0) {
        state.withLock {
            $0.reading.direction = direction
            $0.reading.offset = offset
            $0.reading.total = total
        }
    }

    package var reading: Reading { state.withLock { $0.reading } }

    /// Takes the reading, together with the one that the last call took.
    package func take() -> (now: Reading, before: Reading) {
        state.withLock { state in
            let now = state.reading
            defer {
                state.taken = now
                state.reading.waited = false
            }
            return (now, state.taken)
        }
    }

    func add(_ bytes: Int) { state.withLock { $0.reading.bytes += Int64(bytes) } }

    func receive(_ bytes: Int) {
        state.withLock {
            $0.reading.bytes += Int64(bytes)
            $0.reading.direction = .down
        }
    }

    func progress(offset: Int64, total: Int64) {
        state.withLock {
            $0.reading.offset = offset
            $0.reading.total = total
            $0.reading.verified = nil
        }
    }

    func verify(_ bytes: Int64?) { state.withLock { $0.reading.verified = bytes } }

    /// - Parameter isDrain: the worker ends.
    package func release(isDrain: Bool = false) {
        state.withLock { state in
            state.reading.isReleased = true
            state.reading.isDrained = isDrain
        }
    }
    func canResume() { state.withLock { $0.reading.isResumable = true } }
    /// Keeps the time of the last first byte until there is another: an execution may make several requests.
    func observed(_ connection: Connection) {
        state.withLock {
            let firstByte = connection.firstByte ?? $0.reading.connection.firstByte
            $0.reading.connection = connection
            $0.reading.connection.firstByte = firstByte
        }
    }
    func waited() { state.withLock { $0.reading.waited = true } }
}
