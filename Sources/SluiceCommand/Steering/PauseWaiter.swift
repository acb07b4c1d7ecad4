internal import Commands
internal import Host
internal import NetworkControl
internal import Queue
internal import Synchronization

/// `pause --wait`: returns when no worker runs a command that the pause covers.
struct PauseWaiter {
    private let queue: QueueAccess
    private let pause: Pause

    private static let interval: Duration = .milliseconds(200)
    /// A worker may have claimed an offer right before it heard of the pause.
    private static let quiet: Duration = .seconds(1)

    init(_ queue: QueueAccess, _ pause: Pause) {
        self.queue = queue
        self.pause = pause
    }

    func run() async throws {
        let count = Mutex(0)
        SignalHandling.exits { Diagnostics.say("still paused; \(Self.words(count.withLock { $0 })) running") }
        var lastSeen = MonotonicTime.now
        var hasSaid = false
        while true {
            let running = try await BlockingPool.shared.run { [queue, pause] () -> Int in
                try queue.running(under: pause)
            }
            count.withLock { $0 = running }
            if running > 0 {
                lastSeen = .now
                if !hasSaid { Diagnostics.say("waiting: \(Self.words(running)) running") }
                hasSaid = true
                Diagnostics.showStatus { _ in "\(Self.words(running)) running" }
            } else if MonotonicTime.now - lastSeen >= Self.quiet || queue.coordinator == nil {
                Diagnostics.clearStatus()
                return
            } else {
                queue.remindOfSettings()
            }
            try await Task.sleep(for: Self.interval)
        }
    }

    private static func words(_ count: Int) -> String { count == 1 ? "1 command is" : "\(count) commands are" }
}
