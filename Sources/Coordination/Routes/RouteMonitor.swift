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
    /// - Throws: ``KernelRouteError`` where the kernel's routes cannot be read.
    package init(
        loop: PollLoop, lookUp: @escaping HostAddresses.LookUp = HostAddresses.system, changed: @escaping Changed
    ) throws(KernelRouteError) {
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

/// The routes of the destinations that the coordinator follows. Pure.
struct DestinationRoutes {
    /// Nil before the kernel has answered; then no route is known. It also stays nil while this process has
    /// never had a network: then the process is confined, and the workers, which send, may have one.
    var table: RouteTable? {
        didSet { if table?.isIsolated == true, oldValue == nil { table = nil } }
    }
    private(set) var followed: Set<Destination> = []
    /// The followed destinations of each host, so that the cost of an answer is that of its name.
    private var byHost: [String: Set<Destination>] = [:]
    private(set) var routes: [Destination: Route] = [:]
    private(set) var lostUplinks: [String: LinkReason] = [:]
    /// The last main uplink that lived.
    private(set) var mainUplink: RouteTable.Hop?
    /// Hosts that are names, not addresses.
    private(set) var names: Set<String> = []
    private var addresses: [String: [IPAddress]] = [:]
    /// Names without an address whose look-up has failed: their route is taken to be the main uplink.
    private var unresolved: Set<String> = []

    /// - Returns: names to be looked up.
    mutating func follow(adding destinations: Set<Destination>) -> Set<String> {
        followed.formUnion(destinations)
        for destination in destinations {
            if let host = destination.host { byHost[host, default: []].insert(destination) }
        }
        let new = Set(destinations.compactMap(\.host).filter { IPAddress($0) == nil && !Self.isLocalhost($0) })
        names.formUnion(new)
        return new.subtracting(addresses.keys)
    }

    mutating func follow(removing destination: Destination) {
        followed.remove(destination)
        routes[destination] = nil
        guard let host = destination.host else { return }
        byHost[host]?.remove(destination)
        guard byHost[host]?.isEmpty != false else { return }
        byHost[host] = nil
        names.remove(host)
        addresses[host] = nil
        unresolved.remove(host)
    }

    /// A name that cannot be looked up keeps its addresses: the transfer itself fails, and says why.
    /// - Returns: the followed destinations of these names.
    @discardableResult
    mutating func answered(_ answers: [String: [IPAddress]]) -> Set<Destination> {
        addresses.merge(answers.filter { !$0.value.isEmpty }) { $1 }
        for (name, found) in answers where names.contains(name) {
            if found.isEmpty, addresses[name] == nil { unresolved.insert(name) } else { unresolved.remove(name) }
        }
        return answers.keys.reduce(into: []) { $0.formUnion(byHost[$1] ?? []) }
    }

    /// Brings routes and lost uplinks up to date.
    /// - Parameter destinations: only the routes of these; nil for all that are followed.
    /// - Returns: the routes that have changed; nil where neither a route nor an uplink has.
    mutating func refresh(only destinations: Set<Destination>? = nil) -> [Destination: Route]? {
        guard let table else { return nil }
        let lost = table.lostUplinks
        var changed: [Destination: Route] = [:]
        for destination in destinations ?? followed {
            guard let host = destination.host, var route = route(to: host, by: table) else { continue }
            // A destination whose uplink is lost stays with it: the measurements hold again when it is back.
            let before = routes[destination] ?? .uplink("")
            if case .missing = route, case .uplink(let name) = before, lost[name] != nil { route = before }
            if routes.updateValue(route, forKey: destination) != route { changed[destination] = route }
        }
        let main = table.mainUplink ?? mainUplink
        defer { (lostUplinks, mainUplink) = (lost, main) }
        return changed.isEmpty && lost == lostUplinks && main == mainUplink ? nil : changed
    }

    /// The route to the first of its addresses that has one; nil while its name is looked up for the first time.
    private func route(to host: String, by table: RouteTable) -> Route? {
        if Self.isLocalhost(host) { return .local }
        if unresolved.contains(host) { return .uplink("") }
        let known = IPAddress(host).map { [$0] } ?? addresses[host] ?? []
        let routes = known.map { table.route(to: $0) }
        return routes.first { if case .missing = $0 { false } else { true } } ?? routes.first
    }

    /// RFC 6761, section 6.3.
    private static func isLocalhost(_ host: String) -> Bool { host == "localhost" || host.hasSuffix(".localhost") }
}

extension Destination {
    /// Of `scheme://host:port`; nil for files and for no destination.
    fileprivate var host: String? {
        guard !isFile, let start = text.firstRange(of: "://")?.upperBound, let colon = text.lastIndex(of: ":"),
            colon > start
        else { return nil }
        return String(text[start..<colon])
    }
}
