package import Commands
package import Host
package import NetworkControl
package import ZeroMQ

/// Tells by which route each destination is reached, and when that changes. Confined to its loop, which calls
/// ``tick(now:)`` in each round. Where the kernel does not tell its routes, none are reported and no command
/// is held back.
package final class RouteMonitor {
    /// - Parameters:
    ///   - routes: changed routes of destinations that are followed and whose address is known.
    ///   - lostUplinks: why each uplink that leads nowhere does so, by its name; the main one has the empty
    ///     name.
    ///   - mainUplink: the interface and gateway of the main uplink, now or last.
    package typealias Changed = (
        _ routes: [Destination: Route], _ lostUplinks: [String: LinkReason], _ mainUplink: RouteTable.Hop?
    ) -> Void

    /// Names are looked up again after this time.
    package static let refreshInterval: Duration = .seconds(60)

    private let loop: PollLoop
    private let socket: RouteSocket
    private let names: HostAddresses
    private let changed: Changed
    private var book = DestinationRoutes()
    private var registration: Registration?
    private var refreshAt: MonotonicTime?

    /// Starts to listen. Call it on the loop.
    /// - Parameter changed: called on the loop, at the kernel's first answer and at every change; not after
    ///   ``stop()``.
    /// - Throws: ``RouteError`` where the kernel's routes cannot be read.
    package init(
        loop: PollLoop, lookUp: @escaping HostAddresses.LookUp = HostAddresses.system, changed: @escaping Changed
    ) throws(RouteError) {
        self.loop = loop
        self.changed = changed
        socket = try RouteSocket()
        // A round of the loop ends in its tick, which takes the answers.
        names = HostAddresses(lookUp: lookUp) { loop.perform {} }
        registration = loop.whenReadable(descriptor: socket.descriptor) { [weak self] in self?.read() }
    }

    /// Follows more destinations. Routes to addresses are known at once, those to names after a look-up.
    package func follow(adding destinations: Set<Destination>) {
        guard !destinations.isEmpty else { return }
        for name in book.follow(adding: destinations) { names.want(name) }
        tell(of: destinations)
    }

    /// Stops following a destination.
    package func follow(removing destination: Destination) { book.follow(removing: destination) }

    /// Takes in the answers of look-ups, and starts new ones.
    /// - Returns: when to call it next at the latest; nil where no name is followed.
    package func tick(now: MonotonicTime) -> MonotonicTime? {
        let answers = names.takeAnswers()
        if !answers.isEmpty {
            // With 20,000 names, each answer would have all routes looked at.
            tell(of: book.answered(answers))
        }
        if now >= refreshAt ?? .zero {
            lookUp()
            refreshAt = now + Self.refreshInterval
        }
        return book.names.isEmpty ? nil : refreshAt
    }

    /// Call it before the loop ends and before this object is released.
    package func stop() {
        if let registration { loop.remove(registration) }
        registration = nil
    }

    private func read() {
        guard socket.read() else { return }
        book.table = socket.table
        tell()
        // Another network may have other addresses for the same names.
        lookUp()
    }

    private func lookUp() { for name in book.names { names.want(name) } }

    private func tell(of destinations: Set<Destination>? = nil) {
        guard registration != nil, let routes = book.refresh(only: destinations) else { return }
        changed(routes, book.lostUplinks, book.mainUplink)
    }
}
