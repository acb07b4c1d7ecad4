package import Commands
package import Store
internal import Synchronization

/// A clock of a store that a test sets. Until then it shows the time of this machine.
package final class SettableClock: StoreClock {
    /// The time of a call that a test makes at a time of its choice. No other thread sees it, so that such a call beside
    /// others changes no time of theirs.
    @TaskLocal private static var timeOfCall: Timestamp?

    private let time: Mutex<Timestamp?>
    private let ahead: Duration
    package let followsThisMachine: Bool

    /// - Parameters:
    ///   - start: where the clock stands; nil: it shows the time of this machine.
    ///   - ahead: how far it is ahead of this machine until it is set.
    ///   - followsThisMachine: then the store takes each step of the clock for a jump of the wall clock.
    package init(at start: Timestamp? = nil, ahead: Duration = .zero, followsThisMachine: Bool = false) {
        self.ahead = ahead
        time = Mutex(start)
        self.followsThisMachine = followsThisMachine
    }

    package func now() -> Timestamp { Self.timeOfCall ?? time.withLock { $0 } ?? .now + ahead }

    /// The clock stands at this time from now on.
    package func set(to time: Timestamp) { self.time.withLock { $0 = time } }

    /// Moves a clock that stands, and stops one that shows the time of this machine.
    package func advance(by duration: Duration) { time.withLock { $0 = ($0 ?? .now + ahead) + duration } }

    /// Runs calls of this thread at another time.
    package func at<Value, Failure: Error>(
        _ time: Timestamp, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try Self.$timeOfCall.withValue(time) { Result { () throws(Failure) in try body() } }.get()
    }
}

extension ShardedStore {
    /// Runs calls to the store at a time of the test's choice.
    /// - Precondition: the test has opened the store with a ``SettableClock``.
    package func at<Value, Failure: Error>(
        _ time: Timestamp, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        guard let clock = clock as? SettableClock else {
            preconditionFailure("a call at a time of the test needs a store that was opened with a SettableClock")
        }
        return try clock.at(time, body)
    }
}
