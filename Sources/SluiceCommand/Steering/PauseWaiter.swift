internal import Commands
internal import Host
internal import NetworkControl
internal import Queue
internal import Store
internal import Synchronization
internal import Wire

/// `pause --wait`: returns when no worker runs a command that the pause covers.
struct PauseWaiter {
    private let instance: Instance
    private let pause: Pause

    private static let interval: Duration = .milliseconds(200)
    /// A worker may have claimed an offer right before it heard of the pause.
    private static let quiet: Duration = .seconds(1)

    init(_ instance: Instance, _ pause: Pause) {
        self.instance = instance
        self.pause = pause
    }

    func run() async throws {
        let count = Mutex(0)
        SignalHandling.exits { Diagnostics.say("still paused; \(Self.words(count.withLock { $0 })) running") }
        var lastSeen = MonotonicTime.now
        var hasSaid = false
        while true {
            let running = try await onThread("pause-wait") { () throws(StoreError) -> Int in try self.running() }
            count.withLock { $0 = running }
            if running > 0 {
                lastSeen = .now
                if !hasSaid { Diagnostics.say("waiting: \(Self.words(running)) running") }
                hasSaid = true
                Diagnostics.showStatus { _ in "\(Self.words(running)) running" }
            } else if MonotonicTime.now - lastSeen >= Self.quiet || !instance.coordinator.isHeld {
                Diagnostics.clearStatus()
                return
            } else {
                // A hint may be lost, and the coordinator would then read the pause only in its next sweep.
                HintSender.send(.settingsChanged, in: instance.directory)
            }
            try await Task.sleep(for: Self.interval)
        }
    }

    /// Commands of living workers. Those of a dead worker do not run.
    private func running() throws(StoreError) -> Int {
        let store = instance.store
        let alive = Set(try store.sessions().filter { instance.isAlive($0) }.map(\.epoch))
        let claimed = try store.mapShards(or: []) { shard throws(StoreError) in try store.claimed(shard: shard) }
        return claimed.joined().count { row in
            alive.contains(row.epoch) && (pause.qos ?? row.qos) == row.qos
                && (pause.destination ?? row.destination) == row.destination
        }
    }

    private static func words(_ count: Int) -> String { count == 1 ? "1 command is" : "\(count) commands are" }
}
