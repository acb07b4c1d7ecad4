internal import Commands
internal import Glibc
internal import Host
internal import Store
internal import Synchronization

/// The newest transitions, read from the store for all streams `log` together, while there are any.
///
/// The numbers of a shard grow in the order of its commits, so a reading after the last number misses none. Nothing of
/// it concerns the coordinator: dispatch does not pay for streams, and they need none.
final class LogTail: Sendable {
    /// The next part of a reader.
    enum Next {
        case page(LogPage)
        /// There is none yet.
        case level
        /// The store has it: the reader reads up to this position.
        case behind(LogPosition)
    }

    /// The time that transitions wait for others. A store of many shards is read less often.
    private static let interval: Duration = .milliseconds(50)
    private static let intervalOfShard: Duration = .milliseconds(1)
    private static let pageSize = 1000
    /// Transitions of one page; a page ends in the middle of a burst.
    private static let maxPage = 8000
    /// Transitions that are kept for readers that lag, about 300 bytes each. Further ones come from the store.
    private static let maxKept = 20_000

    private struct State {
        /// Behind the last page; nil before the first reading.
        var position: LogPosition?
        /// The newest pages, the oldest first.
        var pages: [LogPage] = []
        var isRunning = false
    }

    private let store: any CommandStore
    private let registry: StreamRegistry
    private let state = Mutex(State())

    init(_ store: any CommandStore, _ registry: StreamRegistry) {
        self.store = store
        self.registry = registry
    }

    /// Reads as long as there are streams. Call it after a stream was admitted.
    func start() {
        let isFirst = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if isFirst { startThread(named: "door-log") { [self] in run() } }
    }

    /// - Parameter position: nil for a reader that begins with the next transition.
    func next(after position: LogPosition?) -> (Next, LogPosition?) {
        state.withLock { state in
            guard let last = state.position else { return (.level, position) }
            guard let position, position != last else { return (.level, last) }
            if let page = state.pages.last(where: { $0.start == position }) { return (.page(page), position) }
            return (.behind(last), position)
        }
    }

    // MARK: The thread

    private func run() {
        let interval = max(Self.interval, Self.intervalOfShard * store.shardCount)
        var next = MonotonicTime.now
        while true {
            let isOver = state.withLock { state in
                guard registry.count(of: .log) == 0 else { return false }
                state = State()
                return true
            }
            if isOver { return }
            if let position = state.withLock({ $0.position }) {
                read(after: position)
            } else {
                let newest = newest()
                state.withLock { $0.position = newest }
                registry.wake(.log)
            }
            next += interval
            let now = MonotonicTime.now
            if next > now { usleep(UInt32((next - now) / .microseconds(1))) } else { next = now }
        }
    }

    private func newest() -> LogPosition {
        LogPosition(
            (0..<store.shardCount).map { shard in
                // A shard that cannot be read has no transitions.
                let range = try? store.transitionRange(shard: shard)
                return range?.upperBound ?? 0
            })
    }

    private func read(after position: LogPosition) {
        var end = position
        var events: [StatusEvent] = []
        for shard in 0..<store.shardCount {
            while events.count < Self.maxPage {
                // A shard that cannot be read now is read again in the next round.
                guard let read = try? store.events(shard: shard, after: end.numbers[shard], limit: Self.pageSize),
                    let last = read.last?.transition.seq
                else { break }
                events += read
                end.numbers[shard] = last
                if read.count < Self.pageSize { break }
            }
        }
        guard end != position else { return }
        let page = LogPage(from: position, to: end, events)
        state.withLock { state in
            state.position = end
            state.pages.append(page)
            var kept = state.pages.reduce(0) { $0 + $1.events.count }
            while kept > Self.maxKept, state.pages.count > 1 { kept -= state.pages.removeFirst().events.count }
            if state.pages.count > Self.maxPages { state.pages.removeFirst() }
        }
        registry.wake(.log)
    }

    private static let maxPages = 100
}
