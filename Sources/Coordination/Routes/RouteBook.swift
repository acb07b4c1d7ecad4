internal import Commands
internal import NetworkControl

/// The routes of the destinations that somebody asks for. Pure.
struct RouteBook {
    /// Nil while the kernel has said nothing; then nothing is known of any route. Nor is it while this process has never
    /// had a network: then it is confined, and the workers, who send, may well have one.
    var table: RouteTable? {
        didSet { if table?.isIsolated == true, oldValue == nil { table = nil } }
    }
    private(set) var followed: Set<Destination> = []
    private(set) var routes: [Destination: Route] = [:]
    private(set) var lostUplinks: [String: String] = [:]
    /// The last that lived.
    private(set) var mainUplink: RouteTable.Hop?
    /// Names among the hosts, numbers not.
    private(set) var names: Set<String> = []
    private var addresses: [String: [IPAddress]] = [:]

    /// - Returns: names to be looked up.
    mutating func follow(_ destinations: Set<Destination>) -> Set<String> {
        guard followed != destinations else { return names.subtracting(addresses.keys) }
        followed = destinations
        names = Set(followed.compactMap(\.host).filter { IPAddress($0) == nil && !Self.isLocalhost($0) })
        addresses = addresses.filter { names.contains($0.key) }
        return names.subtracting(addresses.keys)
    }

    /// A name that cannot be looked up keeps what it had: that is the transfer's own failure, which says why.
    mutating func answered(_ answers: [String: [IPAddress]]) {
        addresses.merge(answers.filter { !$0.value.isEmpty }) { $1 }
    }

    /// Brings routes and lost uplinks up to date. - Returns: whether they have changed.
    mutating func refresh() -> Bool {
        guard let table else { return false }
        let lost = table.lostUplinks
        var routes: [Destination: Route] = [:]
        for destination in followed {
            guard let host = destination.host, let route = route(to: host, by: table) else { continue }
            routes[destination] = route
            // Who went by an uplink that is lost stays with it: what was measured holds again when it is back.
            let before = self.routes[destination] ?? .uplink("")
            if case .missing = route, case .uplink(let name) = before, lost[name] != nil {
                routes[destination] = before
            }
        }
        let main = table.mainUplink ?? mainUplink
        defer { (self.routes, lostUplinks, mainUplink) = (routes, lost, main) }
        return routes != self.routes || lost != lostUplinks || main != mainUplink
    }

    /// By the first of its addresses that has one. - Returns: nil while no address is known.
    private func route(to host: String, by table: RouteTable) -> Route? {
        if Self.isLocalhost(host) { return .local }
        let known = IPAddress(host).map { [$0] } ?? addresses[host] ?? []
        let routes = known.map { table.route(to: $0) }
        return routes.first { if case .missing = $0 { false } else { true } } ?? routes.first
    }

    /// RFC 6761, section 6.3.
    private static func isLocalhost(_ host: String) -> Bool { host == "localhost" || host.hasSuffix(".localhost") }
}

extension Destination {
    /// Of `scheme://host:port`; nil for files and for nobody.
    fileprivate var host: String? {
        guard self != .file, let start = text.firstRange(of: "://")?.upperBound, let colon = text.lastIndex(of: ":"),
            colon > start
        else { return nil }
        return String(text[start..<colon])
    }
}
