internal import Commands
internal import Host
internal import Synchronization

/// How fast a door reads transitions for all its streams `log` together.
///
/// A transition that ten streams get costs the door about 20 µs of processor time, and dispatch makes up to 230,000 a
/// second. So logs fall behind while the store is busy, and catch up afterwards: no transition is lost by that.
final class LogPacer: Sendable {
    /// Transitions per second that are committed; with more the store is busy.
    static let busy = 20_000.0
    /// Transitions per second that are read while the store is busy, and otherwise.
    static let (slowRate, fullRate) = (5_000.0, 40_000.0)
    /// A reader may be ahead of the rate by this time.
    private static let burst: Duration = .milliseconds(100)

    private struct State {
        var isBusy = false
        /// When the transitions that were read so far are due.
        var due: MonotonicTime?
    }

    private let state = Mutex(State())

    /// - Parameter rate: transitions per second that were committed lately.
    func committed(rate: Double) { state.withLock { $0.isBusy = rate > Self.busy } }

    /// Transitions that may be read in an interval.
    func budget(of interval: Duration) -> Int { state.withLock { max(Int(Self.rate($0) * interval.seconds), 1) } }

    /// Counts transitions that were read.
    /// - Returns: the time to wait before the next reading.
    func read(_ count: Int, at now: MonotonicTime = .now) -> Duration {
        state.withLock { state in
            let due = max(state.due ?? now, now) + .seconds(Double(count) / Self.rate(state))
            state.due = due
            return max(due - now - Self.burst, .zero)
        }
    }

    private static func rate(_ state: State) -> Double { state.isBusy ? slowRate : fullRate }
}
