package import Commands
package import NetworkControl
package import ZeroMQ

/// Tells by which route each destination is reached, and when that changes. Belongs to its loop, which calls ``tick(now:)``
/// in each round. Where the kernel says nothing of routes, nothing is told, and nobody is held back.
package final class RouteWatch {
    /// - Parameters:
    ///   - routes: that have changed, of destinations that are followed and whose address is known.
    ///   - lostUplinks: names of uplinks that lead nowhere, with why; the main one has the empty name.
    ///   - mainUplink: by which interface and gateway it leads, or led last.
    package typealias Changed = (
        _ routes: [Destination: Route], _ lostUplinks: [String: String], _ mainUplink: RouteTable.Hop?
    ) -> Void

    /// Names are looked up anew after so long.
    package static let refreshInterval: Int64 = 60_000_000_000

    private let loop: PollLoop
    private let socket: RouteSocket
    private let names: HostAddresses
    private let changed: Changed
    private var book = RouteBook()
    private var registration: Registration?
    private var refreshAt: Int64?

    /// Listens from now on. On the loop.
    /// - Parameter changed: called on the loop, at the first word of the kernel's and at every change; not after ``stop()``.
    /// - Throws: ``RouteError`` where the kernel's routes cannot be heard.
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

    /// These as well. Numbers are known at once, names soon.
    package func follow(adding destinations: Set<Destination>) {
        guard !destinations.isEmpty else { return }
        for name in book.follow(adding: destinations) { names.want(name) }
        tell(of: destinations)
    }

    /// This one no more.
    package func follow(removing destination: Destination) { book.follow(removing: destination) }

    /// Takes answers in and has names looked up again. - Returns: when to call it next at the latest; nil for no such time.
    package func tick(now: Int64) -> Int64? {
        let answers = names.takeAnswers()
        if !answers.isEmpty {
            book.answered(answers)
            tell()
        }
        if now >= refreshAt ?? 0 {
            lookUp()
            refreshAt = now + Self.refreshInterval
        }
        return book.names.isEmpty ? nil : refreshAt
    }

    /// Before the loop ends, and before this is let go.
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
