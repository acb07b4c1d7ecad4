import Commands
import Coordination
import NetworkControl

/// A report of the watch.
struct RouteReport: Sendable {
    var routes: [Destination: Route]
    var lost: [String: LinkReason]
    var main: RouteTable.Hop?
    var at: Int64
}
