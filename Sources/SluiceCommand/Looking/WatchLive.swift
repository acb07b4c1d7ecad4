internal import Commands
internal import Console
internal import Dispatch
internal import Glibc
internal import Host
internal import Membership
internal import Queue
internal import Synchronization

/// The live screen. Rates, progress and errors come from events; counts, workers and their commands come from
/// the store, so that the screen is right after lost events too, and without a coordinator.
final class WatchLive: Sendable {
    private let queue: QueueAccess
    private let collector = WatchCollector()
    private let state: Mutex<WatchState>
    private let lastEnded = Mutex<Int?>(nil)
    private let links = Mutex(LiveLinks())
    private let descriptions = Mutex(RunningDescriptions())
    private let showsAllLinks: Bool
    private let thread = SerialThread(named: "sluice-watch")

    private static let frame: Duration = .milliseconds(250)
    private static let timeout: DispatchTimeInterval = .milliseconds(500)

    init(queue: QueueAccess, path: String, showsAllLinks: Bool) {
        self.queue = queue
        self.showsAllLinks = showsAllLinks
        var state = WatchState(path: path, now: queue.now)
        state.favoursLinks = showsAllLinks
        self.state = Mutex(state)
    }

    func run() async throws {
        let collector = collector
        let feed = try EventFeed(queue.endpoints, prefixes: [""]) { collector.take($0) }
        defer { withExtendedLifetime(feed) {} }
        let (keys, pressed) = AsyncStream<ExitCode?>.makeStream()
        Terminal.restoreAtCrash()
        let end: @Sendable (ExitCode) -> Void = { code in
            pressed.yield(code)
            Self.insist(on: code)
        }
        for (number, code) in SignalHandling.endings { SignalHandling.handle(number) { end(code) } }
        SignalHandling.handle(SIGWINCH) { pressed.yield(nil) }
        SignalHandling.handle(SIGTSTP) {
            Terminal.restore()
            kill(getpid(), SIGSTOP)
            Terminal.take()
            pressed.yield(nil)
        }
        Terminal.take()
        startThread(named: "sluice-keys") { Self.readKeys(end) }
        thread.perform { [self] in look() }
        defer { thread.close() }
        let ticks = Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.frame)
                pressed.yield(nil)
            }
        }
        for await key in keys {
            if let key {
                ticks.cancel()
                Terminal.restore()
                throw ExitError(key, nil)
            }
            draw()
        }
    }

    /// Ends the process while a terminal that takes no output blocks the drawing thread. A terminal that a
    /// person has stopped (Ctrl-S) is started again first; where that does not help, the process ends without
    /// it.
    private static func insist(on code: ExitCode) {
        // A process in the background restores the terminal too.
        signal(SIGTTOU, SIG_IGN)
        DispatchQueue.global().asyncAfter(deadline: .now() + timeout) {
            // TCOON alone starts only output that TCOOFF has stopped.
            for flow in [TCOOFF, TCOON] { tcflow(STDOUT_FILENO, flow) }
            DispatchQueue.global().asyncAfter(deadline: .now() + timeout) {
                Terminal.restore()
                _exit(code.rawValue)
            }
        }
    }

    private func draw() {
        let (columns, rows) = Terminal.size
        let shown = state.withLock { state in
            state.now = queue.now
            state.problems = collector.problems
            return state
        }
        Terminal.draw(WatchScreen.render(shown, columns: columns, rows: rows), rows: rows)
    }

    private static func readKeys(_ press: (ExitCode) -> Void) {
        var byte: UInt8 = 0
        while true {
            let count = read(STDIN_FILENO, &byte, 1)
            if count == 0 || (count < 0 && errno != EINTR) { return }
            if byte == UInt8(ascii: "q") || byte == UInt8(ascii: "Q") { return press(.done) }
        }
    }

    /// Reads the store, which blocks, and schedules the next time, a second later.
    private func look(at time: MonotonicTime = .now) {
        lookOnce()
        let next = max(time + .seconds(1), .now)
        thread.perform(at: next) { [self] in look(at: next) }
    }

    private func lookOnce() {
        let coordinator = queue.coordinator
        // Before the second ends, so that the traffic of this second is shown.
        let links = Result { try overview(queue, isLive: coordinator != nil) }
        let rates = collector.second()
        let seen: Seen
        do {
            seen = try Seen(queue, collector, links: links.get(), descriptions)
        } catch {
            // The rest of the screen stays as it was.
            return state.withLock { $0.warnings = [SluiceError(error).message] }
        }
        let ended = CommandStatus.allCases.filter(\.isFinal).reduce(0) { $0 + (seen.counts[$1] ?? 0) }
        let last = lastEnded.withLock { last in
            defer { last = ended }
            return last
        }
        // A prune lowers the counts; then the number of events is right.
        let commands = last.map { max(ended - $0, 0) } ?? 0
        let warnings = queue.problems.map(\.message)
        state.withLock { state in
            state.hasCoordinator = coordinator != nil
            state.coordinatorPID = coordinator?.pid
            state.counts = seen.counts
            state.workers = seen.workers
            state.links = seen.links
            state.pauses = seen.pauses
            state.relations = seen.relations
            state.warnings = warnings
            state.addSecond(commands: Double(max(commands, rates.ended)), bytes: Double(rates.bytes))
        }
    }

    /// - Parameter isLive: a coordinator runs, so that links come from its events.
    private func overview(_ queue: QueueAccess, isLive: Bool) throws -> LinkOverview {
        let limit = showsAllLinks ? max(Terminal.size.rows, LinkOverview.maxShown) : LinkOverview.maxShown
        return try links.withLock { links in
            try links.overview(queue, collector, limit: limit, isLive: isLive)
        }
    }
}

/// One reading of the store.
private struct Seen {
    var counts: [CommandStatus: Int]
    var workers: [WorkerReading]
    var links: LinkOverview
    var pauses: [String]
    var relations: RelationOverview

    init(
        _ queue: QueueAccess, _ collector: WatchCollector, links: LinkOverview,
        _ descriptions: borrowing Mutex<RunningDescriptions>
    ) throws {
        let all = try queue.counts()
        counts = Dictionary(uniqueKeysWithValues: CommandStatus.allCases.map { ($0, all[$0]) })
        workers = try descriptions.withLock { descriptions in
            try queue.workers(collector, &descriptions)
        }
        self.links = links
        pauses = try queue.pauses().map(\.sentence)
        relations = try queue.relations()
    }
}
