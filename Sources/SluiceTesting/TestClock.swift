internal import Synchronization

/// The clock of a queue: it stands still until it is moved, and never goes back.
final class TestClock: Sendable {
    private let time: Mutex<Timestamp>

    init(_ start: Timestamp) { time = Mutex(start) }

    var now: Timestamp { time.withLock { $0 } }

    func move(to time: Timestamp) { self.time.withLock { $0 = max($0, time) } }
}
