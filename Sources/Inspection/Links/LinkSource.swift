internal import Console
internal import Dispatch
internal import Host
internal import Sluice
internal import Store
internal import Synchronization

/// Links as they are now: from a running coordinator, else as the last one left them.
struct LinkSource {
    private let instance: Instance

    /// A coordinator that has said nothing for so long is busy or gone. A long snapshot is waited for while it comes.
    private static let timeout = DispatchTimeInterval.seconds(1)
    private static let maxWaits = 5

    init(_ instance: Instance) { self.instance = instance }

    /// Every link in its order. Blocks for a few milliseconds; a second where the coordinator does not answer.
    func readings() throws -> [LinkReading] { try overview(limit: nil).shown }

    /// - Parameter limit: of links shown; nil shows every link.
    func overview(limit: Int?) throws -> LinkOverview {
        let live = instance.coordinator.isHeld ? try live() : nil
        let overrides = LinkOverrides(try instance.overrides())
        guard let live else {
            let stored = try instance.storedLinks()
            return overrides.overview(limit: limit) { stored.visit($0) }
        }
        var overview = overrides.overview(limit: limit) { live.visit($0) }
        live.complete(&overview)
        return overview
    }

    /// The snapshot that a new subscriber gets. Counts end it: they are read from the store, and sent behind the links.
    /// - Returns: nil where nobody answers.
    private func live() throws -> LinkReadings? {
        final class Collected: Sendable {
            let board = Mutex(LinkReadings())
            let isComplete = DispatchSemaphore(value: 0)
            let snapshotEvents = Atomic<Int>(0)
        }
        let collected = Collected()
        let feed = try EventFeed(directory: instance.directory, prefixes: ["link/", "bandwidth/", "counts"]) {
            guard let event = SluiceEvent(frame: Array($0)) else { return }
            if event.isSnapshot { collected.snapshotEvents.add(1, ordering: .relaxed) }
            if event.kind == "counts" {
                if event.isSnapshot { collected.isComplete.signal() }
            } else {
                collected.board.withLock { $0.take(kind: event.kind, destination: event.subject, body: event.body) }
            }
        }
        return withExtendedLifetime(feed) {
            for _ in 0..<Self.maxWaits {
                let heard = collected.snapshotEvents.load(ordering: .relaxed)
                if collected.isComplete.wait(timeout: .now() + Self.timeout) == .success {
                    return collected.board.withLock { $0 }
                }
                if collected.snapshotEvents.load(ordering: .relaxed) == heard { break }
            }
            return nil
        }
    }
}
