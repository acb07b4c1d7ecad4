internal import Commands
internal import Door
internal import DoorLive
internal import Host
internal import Queue
internal import Telemetry
internal import UploadSpool
internal import Uploads

/// Puts the text of `/metrics` together.
struct Scrape: Sendable {
    let context: DoorContext
    let live: LivePart
    let requests: RequestMeter
    let coordinator: CoordinatorListener
    let telemetry: Telemetry?
    let more: @Sendable () -> [MetricFamily]
    private let store: CachedReading<StoreFigures>
    private let spool: CachedReading<SpoolFigures?>
    private let server: CachedReading<[MetricFamily]>

    /// Figures of store and spool are this old at most, so that scrapes cannot load them.
    private static let maxAge: Duration = .seconds(1)
    /// The transactions of a server are those of all its users.
    private static let maxServerAge: Duration = .seconds(10)
    /// A reading that takes longer, because a disk hangs, is left out.
    private static let timeout: Duration = .seconds(2)

    init(
        _ context: DoorContext, live: LivePart, requests: RequestMeter, coordinator: CoordinatorListener,
        telemetry: Telemetry?, more: @escaping @Sendable () -> [MetricFamily]
    ) {
        self.context = context
        self.live = live
        self.requests = requests
        self.coordinator = coordinator
        self.telemetry = telemetry
        self.more = more
        store = CachedReading(maxAge: Self.maxAge) { [client = context.client] in
            // A scrape must not miss the store because lists keep its readers busy.
            let figures = try? await client.read(isUrgent: true) { queue in StoreFigures(reading: queue) }
            return figures ?? StoreFigures()
        }
        spool = CachedReading(maxAge: Self.maxAge) { [uploads = context.uploads] in
            try? await uploads.spoolFigures()
        }
        server = CachedReading(maxAge: Self.maxServerAge) { [client = context.client] in
            let age = try? await client.read(isUrgent: true) { queue in try queue.oldestTransactionAge() }
            return age.flatMap(\.self).map { ServerFigures.families(ofTransactionOpenFor: $0) } ?? []
        }
    }

    /// The text of this moment.
    func text() async -> [UInt8] {
        async let spool = spool.value(within: Self.timeout)
        async let server = server.value(within: Self.timeout)
        let store = await store.value(within: Self.timeout)
        let now = context.client.now
        var text = MetricsText()
        text.add(store?.families(now: now) ?? [MetricFamily("sluice_store_up", .gauge, value: 0)])
        text.add(await server ?? [])
        if let spool = await spool.flatMap(\.self) { text.add(DoorFigures.families(of: spool)) }
        text.add(LinkFigures.families(of: live.snapshot.links))
        text.add(StreamFigures.families(of: live.statistics))
        text.add(
            DoorFigures.families(
                of: context.statistics, failures: context.authenticator.failureCounts, version: SluiceVersion.current))
        let uploads = context.uploads.statistics.counts
        text.add(DoorFigures.families(of: uploads))
        text.add([DoorFigures.submissions(context.statistics.submittedCommands, uploads: uploads.commands)])
        text.add([requests.family])
        if let certificate = context.certificate { text.add(DoorFigures.families(of: certificate)) }
        if let lag = coordinator.lag(now: now) {
            text.add([MetricFamily("sluice_events_lag_seconds", .gauge, value: lag)])
        }
        text.add(more())
        if let telemetry { text.add(telemetry.families, label: Self.process("door")) }
        for (process, families) in coordinator.families { text.add(families, label: Self.process(process)) }
        return text.bytes
    }

    private static func process(_ name: String) -> MetricLabel { MetricLabel("process", name) }
}

/// A reading that takes time: it is made at most once in ``maxAge``, however many ask for it at the same time.
actor CachedReading<Value: Sendable> {
    private let maxAge: Duration
    private let read: @Sendable () async -> Value
    private var last: (value: Value, at: MonotonicTime)?
    private var running: Task<Value, Never>?

    /// - Parameters:
    ///   - maxAge: a reading is made again when the last one is older.
    ///   - read: it must not block its task's thread.
    init(maxAge: Duration, read: @escaping @Sendable () async -> Value) {
        self.maxAge = maxAge
        self.read = read
    }

    /// - Parameter timeout: how long to wait for a reading that is slow. It goes on, for later calls.
    /// - Returns: nil after the timeout.
    func value(within timeout: Duration) async -> Value? {
        if let last, MonotonicTime.now - last.at < maxAge { return last.value }
        let task = running ?? start()
        let (values, continuation) = AsyncStream<Value?>.makeStream()
        Task { continuation.yield(await task.value) }
        let timer = Task {
            try? await Task.sleep(for: timeout)
            continuation.yield(nil)
        }
        defer { timer.cancel() }
        return await values.first { _ in true } ?? nil
    }

    private func start() -> Task<Value, Never> {
        let task = Task {
            let value = await read()
            last = (value, .now)
            running = nil
            return value
        }
        running = task
        return task
    }
}
