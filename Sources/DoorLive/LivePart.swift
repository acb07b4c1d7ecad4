internal import Commands
package import Door
internal import Glibc
internal import Host
internal import Queue
internal import Synchronization

/// Follows the events of the coordinator, and serves them as streams.
package final class LivePart: DoorPart {
    private let current = Mutex(LiveSnapshot(asOf: .now))
    private let streams = Mutex<EventStreams?>(nil)
    private let isOver = Atomic<Bool>(false)
    /// When ``snapshot`` was last asked for, in nanoseconds of ``MonotonicTime``.
    private let asked = Atomic<Int64>(0)
    private let limits: StreamLimits
    private let registry: StreamRegistry
    private let view = ViewHub()
    /// Counts of the streams.
    package let statistics = LiveStatistics()

    /// No `status/`: transitions come from the store, so that the coordinator makes no event of a command.
    private static let topics = ["counts", "worker/", "link/", "bandwidth/", "progress/"]
    /// Streams `view` get a frame at most at each of these intervals.
    private static let interval: Duration = .milliseconds(250)
    /// The store is read at each fourth interval while a page is open or something happens.
    private static let readInterval = 4
    /// Intervals between two reads while nothing happens: a server with other work keeps its processor.
    private static let idleReadInterval = 40
    /// A page that was asked for is asked for again, or opens a stream.
    private static let askedInterval: Duration = .seconds(5)
    /// With the age of tokens in memory, less than a second.
    private static let permissionInterval: Duration = .milliseconds(400)

    package convenience init() { self.init(limits: StreamLimits()) }

    init(limits: StreamLimits) {
        self.limits = limits
        registry = StreamRegistry(limits, statistics)
    }

    /// The state of this moment. It does not block. While no page is open, a setting that changed may be 10 s late.
    package var snapshot: LiveSnapshot {
        asked.store(MonotonicTime.now.nanoseconds, ordering: .relaxed)
        return current.withLock { $0 }
    }

    private var isWatched: Bool {
        registry.count(of: .view) > 0
            || MonotonicTime.now - MonotonicTime(nanoseconds: asked.load(ordering: .relaxed)) < Self.askedInterval
    }

    package func endpoints(_ context: DoorContext) async throws -> [Endpoint] {
        let queue = context.client.access
        let pacer = LogPacer()
        let streams = EventStreams(
            registry: registry, statistics: statistics, limits: limits, shardCount: queue.shardCount, view: view,
            tail: LogTail(queue, registry, pacer), reader: LogReader(queue, pacer))
        self.streams.withLock { $0 = streams }
        return [streams.endpoint]
    }

    package func shutDown() { registry.shutDown() }

    package func run(_ context: DoorContext) async throws {
        let queue = context.client.access
        let events = LiveReader.Events()
        let feed = try EventFeed(queue.endpoints, prefixes: Self.topics) { events.take($0) }
        defer {
            isOver.store(true, ordering: .relaxed)
            feed.close()
            registry.shutDown()
        }
        startThread(named: "door-live") { [self] in look(LiveReader(queue, events), events) }
        while true {
            try await Task.sleep(for: Self.permissionInterval)
            await registry.checkPermissions { principal, fields in
                await context.authenticator.stillPermits(principal, [.read], fields: fields)
            }
        }
    }

    /// Reads the store, on a thread of its own because that blocks.
    private func look(_ reader: LiveReader, _ events: LiveReader.Events) {
        var next = MonotonicTime.now
        var (sinceRead, sincePass) = (Self.idleReadInterval, 0)
        while true {
            if isOver.load(ordering: .relaxed) { return }
            sinceRead += 1
            sincePass += 1
            let isIdle =
                sinceRead < Self.readInterval
                || sinceRead < Self.idleReadInterval && !isWatched && !reader.mayHaveChanged()
            if !isIdle {
                reader.read()
                (sinceRead, sincePass) = (0, 0)
            } else if sincePass >= Self.readInterval {
                reader.passIdle()
                sincePass = 0
            }
            if sincePass == 0 {
                current.withLock { $0 = reader.snapshot }
                if registry.count(of: .log) == 0 { streams.withLock { $0?.reader.clear() } }
            }
            // While dispatch needs the processor, pages get what the store says, once a second.
            if !reader.isBusy || sincePass == 0 { publish(reader.snapshot, events) }
            registry.check(at: .now)
            next += Self.interval
            let now = MonotonicTime.now
            if next > now { usleep(UInt32((next - now) / .microseconds(1))) } else { next = now }
        }
    }

    private func publish(_ snapshot: LiveSnapshot, _ events: LiveReader.Events) {
        guard registry.count(of: .view) > 0 else { return view.clear() }
        let contents = ViewContents(snapshot: snapshot) { events.collector.progress(of: $0) }
        let parts = ViewPart.allCases.map { ($0, contents.bytes(of: $0)) }
        if view.publish(Dictionary(uniqueKeysWithValues: parts)) { registry.wake(.view) }
    }
}
