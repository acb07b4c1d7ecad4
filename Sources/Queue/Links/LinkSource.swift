package import Console
internal import Host
package import NetworkControl
internal import Store
internal import Synchronization

/// The links of this moment: from a running coordinator, otherwise as the last one left them.
package struct LinkSource {
    private let instance: Instance

    /// A coordinator that sends nothing for this long is busy or gone. While a long snapshot arrives, the
    /// wait is repeated up to ``maxWaits`` times.
    private static let timeout = Duration.seconds(1)
    private static let maxWaits = 5

    package init(_ instance: Instance) { self.instance = instance }

    /// Every link in its order. Returns after a few milliseconds; after a second where the coordinator does
    /// not answer.
    package func readings() async throws -> [LinkReport] { try await overview(limit: nil).shown }

    /// - Parameter limit: of links shown; nil shows every link.
    package func overview(limit: Int?) async throws -> LinkOverview {
        let isRunning = await onThread("links") { [instance] () throws(Never) in instance.coordinator.isHeld }
        let live = isRunning ? try await live() : nil
        let (overrides, stored) = try await onThread("links") { [instance] () throws(StoreError) in
            (LinkOverrides(try instance.overrides()), live == nil ? try instance.storedLinks() : nil)
        }
        if let stored {
            return overrides.overview(limit: limit) { stored.visit($0) }
        }
        var overview = overrides.overview(limit: limit) { live?.visit($0) }
        live?.complete(&overview)
        return overview
    }

    private final class Snapshot: Sendable {
        let events = Atomic<Int>(0)
    }

    /// The snapshot that a new subscriber gets.
    /// - Returns: nil where the coordinator does not answer.
    private func live() async throws -> LinkCollector? {
        let snapshot = Snapshot()
        let (events, continuation) = AsyncStream.makeStream(of: SluiceEvent.self)
        let feed = try EventFeed(directory: instance.directory, prefixes: ["link/", "bandwidth/", "counts"]) { frame in
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
