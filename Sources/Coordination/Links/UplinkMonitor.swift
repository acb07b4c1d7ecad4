internal import Commands
internal import Host
internal import Logging
internal import NetworkControl
internal import ZeroMQ

/// Tells the network controller by which uplink each destination is reached, and which uplinks are lost, as
/// the kernel says. Confined to the loop.
final class UplinkMonitor {
    /// Called after each change, so that the links are judged at once and no transfer waits for its timeout.
    var whenChanged: () -> Void = {}

    private let environment: CoordinatorEnvironment
    private let dispatch: DispatchRunner
    /// Nil where the kernel's routes cannot be read.
    private var routes: RouteMonitor?
    private var state = UplinkState()
    private(set) var nextDue: MonotonicTime?

    init(_ environment: CoordinatorEnvironment, dispatch: DispatchRunner) {
        self.environment = environment
        self.dispatch = dispatch
    }

    func start() {
        do throws(KernelRouteError) {
            routes = try RouteMonitor(loop: environment.loop) { [weak self] routes, lost, main in
                self?.takeIn(routes, lost, main)
            }
        } catch {
            environment.logger.warning(
                "The kernel's routes cannot be read; links are judged by their traffic alone: \(error)")
        }
    }

    func stop() { routes?.stop() }

    /// Looks names up again when that is due; call it in each round of the loop.
    func run(now: MonotonicTime) { nextDue = routes?.tick(now: now) }

    func follow(adding destinations: Set<Destination>) { routes?.follow(adding: destinations) }

    func follow(removing destination: Destination) { routes?.follow(removing: destination) }

    private func takeIn(_ routes: [Destination: Route], _ lost: [String: LinkReason], _ main: RouteTable.Hop?) {
        dispatch.dispatcher.links.uplinksChanged(state.update(lost: lost, main: main), routes, now: .now)
        whenChanged()
        environment.loop.perform {}
    }
}
