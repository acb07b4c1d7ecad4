internal import Glibc
internal import Host
internal import Queue
internal import Synchronization

/// The newest transitions, read from the store for all streams `log` together, while there are any.
///
/// Nothing of it concerns the coordinator: dispatch does not wait for streams, and they need none. While dispatch is fast,
/// they fall behind (``LogPacer``).
final class LogTail: Sendable {
    /// The next part of a reader.
    enum Next {
        case page(LogPage)
        /// There is none yet.
        case level
        /// The store has it: the reader reads up to this position.
        case behind(TransitionPosition)
    }

    /// The time that transitions wait for others. A store of many shards is read less often.
    private static let interval: Duration = .milliseconds(50)
    private static let intervalOfShard: Duration = .milliseconds(1)
    /// Transitions that are kept for readers that lag, about 300 bytes each. Further ones come from the store.
    private static let maxKept = 20_000

    private struct State {
        /// Behind the last page; nil before the first reading.
        var position: TransitionPosition?
        /// The newest pages, the oldest first.
        var pages: [LogPage] = []
        var isRunning = false
    }

    private let reader: TransitionReader
    private let registry: StreamRegistry
    private let pacer: LogPacer
    private let state = Mutex(State())

    init(_ queue: QueueAccess, _ registry: StreamRegistry, _ pacer: LogPacer) {
        reader = TransitionReader(queue)
        self.registry = registry
        self.pacer = pacer
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
    func next(after position: TransitionPosition?) -> (Next, TransitionPosition?) {
        state.withLock { state in
            guard let last = state.position else { return (.level, position) }
            guard let position, position != last else { return (.level, last) }
            if let page = state.pages.last(where: { $0.page.start == position }) { return (.page(page), position) }
            return (.behind(last), position)
        }
    }

    // MARK: The thread

    private func run() {
        let interval = max(Self.interval, Self.intervalOfShard * reader.shardCount)
        var next = MonotonicTime.now
        var meter = CommitMeter()
        while true {
            let isOver = state.withLock { state in
                guard registry.count(of: .log) == 0 else { return false }
                state = State()
                return true
            }
            if isOver { return }
            look(&meter, interval)
            next += interval
            let now = MonotonicTime.now
            if next > now { usleep(UInt32((next - now) / .microseconds(1))) } else { next = now }
        }
    }

    private func look(_ meter: inout CommitMeter, _ interval: Duration) {
        let position = state.withLock { $0.position }
        // A store that cannot be read now is read again in the next round.
        guard let newest = try? reader.newest(known: position) else { return }
        if let rate = meter.rate(at: newest, now: .now) { pacer.committed(rate: rate) }
        if let position {
            read(after: position, to: newest, limit: pacer.budget(of: interval))
        } else {
            state.withLock { $0.position = newest }
            registry.wake(.log)
        }
    }

    private func read(after position: TransitionPosition, to newest: TransitionPosition, limit: Int) {
        guard newest != position, let page = try? reader.page(after: position, to: newest, limit: limit),
            page.end != position
        else { return }
        _ = pacer.read(page.events.count)
        state.withLock { state in
            state.position = page.end
            state.pages.append(LogPage(page))
            var kept = state.pages.reduce(0) { $0 + $1.page.events.count }
            while kept > Self.maxKept, state.pages.count > 1 { kept -= state.pages.removeFirst().page.events.count }
            if state.pages.count > Self.maxPages { state.pages.removeFirst() }
        }
        registry.wake(.log)
    }

    private static let maxPages = 100

    /// The rate of commits between two readings.
    private struct CommitMeter {
        private var last: (sum: Int64, at: MonotonicTime)?

        /// - Returns: transitions per second; nil at the first reading, and in a store that was restored.
        mutating func rate(at newest: TransitionPosition, now: MonotonicTime) -> Double? {
            let sum = newest.numbers.reduce(0, &+)
            defer { last = (sum, now) }
            guard let last, sum >= last.sum, now > last.at else { return nil }
            return Double(sum - last.sum) / (now - last.at).seconds
        }
    }
}
