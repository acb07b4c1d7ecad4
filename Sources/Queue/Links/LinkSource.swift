package import Commands
package import Console
internal import Host
package import NetworkControl
internal import Store
internal import Synchronization

/// The links of this moment: from a running coordinator, otherwise as the last one left them.
package struct LinkSource {
    private let queue: QueueAccess

    /// A coordinator that sends nothing for this long is busy or gone. While a long snapshot arrives, the
    /// wait is repeated up to ``maxWaits`` times.
    private static let timeout = Duration.seconds(1)
    private static let maxWaits = 5

    package init(_ queue: QueueAccess) { self.queue = queue }

    /// Every link in its order. Returns after a few milliseconds; after a second where the coordinator does
    /// not answer.
    package func readings() async throws -> [LinkReport] { try await overview(limit: nil).shown }

    /// The links that the reasons of a command depend on: those of its destination, or of the commands that it waits for, and
    /// the main uplink. The coordinator publishes no others for this reading.
    package func readings(for command: Command) async throws -> [LinkReport] {
        let destinations = try await queue.read { queue in
            try WaitExplainer(queue: queue).linkDestinations(of: command)
        }
        return destinations.isEmpty ? [] : try await overview(of: destinations, limit: nil).shown
    }

    /// - Parameter limit: of links shown; nil shows every link.
    package func overview(limit: Int?) async throws -> LinkOverview { try await overview(of: nil, limit: limit) }

    /// - Parameter destinations: of the links; nil: every link.
    private func overview(of destinations: Set<Destination>?, limit: Int?) async throws -> LinkOverview {
        let names = destinations.map { $0.map(\.text).sorted() + [LinkKey(.uplink(""), .up).name] }
        let isRunning = try await queue.read { queue in queue.coordinator != nil }
        let live = isRunning ? try await live(names) : nil
        let (overrides, stored) = try await queue.read { queue in
            let overrides = try queue.overrides().filter { destinations?.contains($0.key) ?? true }
            return (LinkOverrides(overrides), live == nil ? try queue.storedLinks(named: names) : nil)
        }
        if let stored {
            return overrides.overview(limit: limit) { stored.visit(now: queue.now, $0) }
        }
        var overview = overrides.overview(limit: limit) { live?.visit($0) }
        live?.complete(&overview)
        return overview
    }

    private final class Snapshot: Sendable {
        let events = Atomic<Int>(0)
    }

    /// The topics to subscribe to, `counts` behind the links.
    /// - Parameter names: of the links; nil: every link, with the traffic of the last quarter of a second.
    static func prefixes(_ names: [String]?) -> [String] {
        // With the space behind it, a prefix is that topic and not the beginning of another.
        (names?.map { "link/\($0) " } ?? ["link/", "bandwidth/"]) + ["counts"]
    }

    /// The snapshot that a new subscriber gets.
    /// - Parameter names: of the links; nil: every link.
    /// - Returns: nil where the coordinator does not answer.
    private func live(_ names: [String]?) async throws -> LinkCollector? {
        let snapshot = Snapshot()
        let (events, continuation) = AsyncStream.makeStream(of: SluiceEvent.self)
        let feed = try EventFeed(queue.endpoints, prefixes: Self.prefixes(names)) { frame in
            guard let event = SluiceEvent(frame: Array(frame)) else { return }
            if event.isSnapshot { snapshot.events.add(1, ordering: .relaxed) }
            continuation.yield(event)
        }
        defer { feed.close() }
        return await withTaskGroup(of: LinkCollector?.self) { group in
            group.addTask { await Self.readings(events) }
            group.addTask {
                await Self.silence(of: snapshot)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    /// Collects links up to the counts, which the coordinator sends behind all links of a snapshot.
    private static func readings(_ events: AsyncStream<SluiceEvent>) async -> LinkCollector? {
        var readings = LinkCollector()
        for await event in events {
            guard event.kind == "counts" else {
                readings.take(kind: event.kind, destination: event.subject, body: event.body)
                continue
            }
            if event.isSnapshot { return readings }
        }
        return nil
    }

    /// Returns when no event of a snapshot has come for ``timeout``, or after ``maxWaits`` of them.
    private static func silence(of snapshot: Snapshot) async {
        for _ in 0..<maxWaits {
            let known = snapshot.events.load(ordering: .relaxed)
            do { try await Task.sleep(for: timeout) } catch { return }
            if snapshot.events.load(ordering: .relaxed) == known { return }
        }
    }
}
