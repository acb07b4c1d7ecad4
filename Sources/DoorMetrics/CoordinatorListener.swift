internal import Commands
internal import Door
internal import Host
internal import Logging
internal import Queue
internal import Synchronization
internal import Telemetry

/// Hears the measurements of the other processes, and whether the coordinator is heard at all.
final class CoordinatorListener: Sendable {
    private struct State {
        var reports = ProcessReports()
        var heardAt: MonotonicTime?
        /// When the newest event was made, by the clock of the coordinator.
        var madeAt: Timestamp?
    }

    /// The coordinator publishes counts once a second.
    private static let counts = "counts"
    private static let metrics = "metrics/"

    private let state = Mutex(State())

    /// From the last event that was heard; nil before the first.
    var silence: Duration? { state.withLock { $0.heardAt }.map { MonotonicTime.now - $0 } }

    /// Seconds since the newest event was made; nil before the first.
    func lag(now: Timestamp) -> Double? {
        state.withLock { $0.madeAt }.map { Double(max(now.milliseconds - $0.milliseconds, 0)) / 1000 }
    }

    /// The measurements of each process that was heard lately.
    var families: [(process: String, families: [MetricFamily])] {
        state.withLock { $0.reports }.families(now: .now)
    }

    /// Listens until the task is cancelled.
    func run(_ context: DoorContext) async throws {
        let feed = try EventFeed(context.client.access.endpoints, prefixes: [Self.metrics, Self.counts]) { frame in
            self.take(Array(frame))
        }
        defer { feed.close() }
        let (ends, end) = AsyncStream<Void>.makeStream()
        await withTaskCancellationHandler {
            for await _ in ends {}
        } onCancel: {
            end.finish()
        }
    }

    /// Takes a frame of the coordinator; other bytes are ignored.
    func take(_ frame: [UInt8]) {
        guard let event = SluiceEvent(frame: frame) else { return }
        let report = event.topic.hasPrefix(Self.metrics) ? MetricsReport(event.body) : nil
        let process = String(event.subject)
        state.withLock { state in
            state.heardAt = .now
            if let at = event.body["at"]?.timestamp { state.madeAt = at }
            if let report { state.reports.take(report, of: process, now: .now) }
        }
    }
}
