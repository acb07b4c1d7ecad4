package import Commands
package import Console
internal import Host
package import NetworkControl
package import Store
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

/// The links in the settings `link.<direction>.<destination>`. A link is parsed when it is visited: twenty
/// thousand parsed links take three times the memory of their texts.
package struct StoredLinks: Sendable {
    let settings: [String: String]

    package init(settings: [String: String]) { self.settings = settings }

    /// - Parameter now: a setting is written when its link changes, so a time of a probe that has passed says nothing.
    package func visit(now: Timestamp, _ body: (LinkReport) -> Void) {
        for (key, value) in settings {
            let name = key.dropFirst(SettingKey.linkPrefix.count)
            guard let dot = name.firstIndex(of: "."), let direction = Direction(rawValue: String(name[..<dot])),
                let parsed = try? JSONValue(parsing: value.utf8),
                var link = LinkReport(destination: name[name.index(after: dot)...], body: parsed)
            else { continue }
            link.direction = direction
            if let probe = link.nextProbe, probe < now { link.nextProbe = nil }
            if let probe = link.circuitBreaker?.nextProbe, probe < now { link.circuitBreaker?.nextProbe = nil }
            body(link)
        }
    }
}

/// The settings of links that a person has made. They win over the coordinator's report, which may be older.
package struct LinkOverrides: Equatable, Sendable {
    private let settings: [String: LinkOverrideSetting]

    package init(_ settings: [Destination: LinkOverrideSetting]) {
        self.settings = Dictionary(settings.map { ($0.key.text, $0.value) }) { first, _ in first }
    }

    /// The links that `visit` passes on, and those that only a setting names.
    /// - Parameter limit: of links shown; nil shows every link.
    package func overview(limit: Int?, visit: ((LinkReport) -> Void) -> Void) -> LinkOverview {
        var overview = LinkOverview(limit: limit)
        var unseen = settings
        visit { link in
            guard let setting = settings[link.destination] else { return overview.add(link) }
            unseen[link.destination] = nil
            var link = link
            link.isForced = setting.override.isOffline
            link.maxRate = setting.override.maxRate ?? link.maxRate
            overview.add(link)
        }
        for (destination, setting) in unseen {
            var link = LinkReport(destination: destination, level: setting.override.isOffline ? .offline : .unknown)
            link.isForced = setting.override.isOffline
            link.maxRate = setting.override.maxRate
            link.since = setting.since
            overview.add(link)
        }
        return overview
    }
}

/// The links for a display that is read again and again: from events while a coordinator runs, otherwise as the last
/// coordinator left them.
package struct LiveLinks {
    /// The links that were read last without a coordinator: until one starts, only a person changes them.
    private var stored: (overrides: LinkOverrides, limit: Int, overview: LinkOverview)?

    package init() {}

    /// - Parameters:
    ///   - collector: has the events of a coordinator.
    ///   - limit: of links shown.
    ///   - isLive: whether a coordinator runs.
    package mutating func overview(
        _ queue: QueueAccess, _ collector: WatchCollector, limit: Int, isLive: Bool
    ) throws(StoreError) -> LinkOverview {
        let overrides = LinkOverrides(try queue.overrides())
        if isLive {
            stored = nil
            return collector.links(limit: limit, overrides: overrides)
        }
        if let stored, stored.overrides == overrides, stored.limit == limit { return stored.overview }
        let links = try queue.storedLinks()
        let overview = overrides.overview(limit: limit) { links.visit(now: queue.now, $0) }
        stored = (overrides, limit, overview)
        return overview
    }
}
