import CLinux
import Commands
import Coordination
import Host
import NetworkControl
import ZeroMQ

/// The owner of the watch, on the watch's loop.
actor Watcher {
    private let loop: PollLoop
    private var watch: RouteMonitor?
    /// All routes. The watch reports only changes.
    private var routes: [Destination: Route] = [:]
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: PollLoop) { self.loop = loop }

    func start(_ report: @escaping @Sendable (RouteReport) -> Void) throws {
        let watch = try RouteMonitor(loop: loop) { [weak self] changed, lost, main in
            self?.assumeIsolated { watcher in
                watcher.routes.merge(changed) { $1 }
                report(RouteReport(routes: watcher.routes, lost: lost, main: main, at: Int64(clinux_monotonic())))
            }
        }
        loop.tick = { watch.tick(now: $0) }
        watch.follow(adding: [far, near, own])
        self.watch = watch
    }

    func stop() {
        watch?.stop()
        loop.tick = nil
    }
}
