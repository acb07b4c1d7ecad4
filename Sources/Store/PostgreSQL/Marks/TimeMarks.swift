internal import Commands
internal import Host
internal import Synchronization

/// Where a look for rows that are due begins, in each shard.
///
/// Rows that were due are gone, and their index keeps their entries for as long as any open transaction might see them. A row
/// whose time has passed when it is committed was decided at most ``slack`` before. Once a minute a look begins at the head all
/// the same.
final class TimeMarks: Sendable {
    private struct State {
        var marks: [Int: Timestamp] = [:]
        var now = Timestamp.zero
        var lookedFromHead: MonotonicTime?
    }

    /// Longer than a transaction takes from its first statement on (`statement_timeout`).
    static let slack: Duration = .seconds(30)
    private static let interval: Duration = .seconds(60)
    /// A new measure of the server's clock may put it back a little.
    private static let maxStep: Duration = .seconds(5)

    private let state = Mutex(State())

    /// The times at which a look at shards begins.
    func begin(_ shards: [Int], now: Timestamp) -> [Timestamp] {
        state.withLock { state in
            let time = MonotonicTime.now
            // The clock was set back, or a minute is over.
            let isBack = state.now - now > Self.maxStep
            if isBack || state.lookedFromHead.map({ time - $0 >= Self.interval }) ?? true {
                (state.marks, state.lookedFromHead) = ([:], time)
            }
            state.now = now
            return shards.map { state.marks[$0] ?? .zero }
        }
    }

    func mark(of shard: Int) -> Timestamp { state.withLock { $0.marks[shard] ?? .zero } }

    /// Takes in what a look has found.
    /// - Parameters:
    ///   - first: the time of the first row; nil where there is none.
    ///   - now: of the look.
    func end(_ shard: Int, first: Timestamp?, now: Timestamp) {
        let end = Timestamp(milliseconds: max(now.milliseconds - Self.slack.milliseconds, 0))
        state.withLock { $0.marks[shard] = min(first ?? end, end) }
    }

    /// Rows were moved to earlier times.
    func forget() { state.withLock { $0.lookedFromHead = nil } }
}
