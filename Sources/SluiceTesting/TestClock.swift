internal import Store
internal import Synchronization

/// The clock of a queue: it stands still until it is moved, and never goes back.
final class TestClock: StoreClock {
    private let time: Mutex<Timestamp>

    init(_ start: Timestamp) { time = Mutex(start) }

    func now() -> Timestamp { time.withLock { $0 } }

    var followsThisMachine: Bool { false }

    func move(to time: Timestamp) { self.time.withLock { $0 = max($0, time) } }
}
