package import Commands
internal import Host

/// Which links there are, and which uplink each destination is behind.
extension NetworkController {
    package func route(of destination: Destination) -> Route {
        routes[destination] ?? (destination.isFile ? .local : .uplink(""))
    }

    package func uplink(of key: LinkKey) -> LinkKey? {
        guard let destination = key.destination, case .uplink(let route) = route(of: destination),
            lostUplinks[route] == nil || !pendingRoutes.contains(destination)
        else { return nil }
        return LinkKey(.uplink(route), key.direction)
    }

    /// The link and the uplink above it.
    func chain(_ key: LinkKey) -> [LinkKey] { uplink(of: key).map { [key, $0] } ?? [key] }

    /// Whether commands of certain qualities wait for the link, or for one below it.
    func hasWaiting(_ key: LinkKey, where isMeant: (QualityOfService) -> Bool) -> Bool {
        func isMet(_ counts: [QualityOfService: Int]) -> Bool {
            counts.contains { $0.value > 0 && isMeant($0.key) }
        }
        guard key.destination == nil else { return waiting[key].map(isMet) ?? false }
        return waiting.contains { isMet($0.value) && uplink(of: $0.key) == key }
    }

    /// The kernel's reason why the route is missing; nil where there is one.
    func missingRoute(_ key: LinkKey) -> LinkReason? {
        switch key.scope {
        case .uplink(let name): return lostUplinks[name]
        case .destination(let destination):
            if pendingRoutes.contains(destination) { return nil }
            switch route(of: destination) {
            case .uplink(let name):
                let uplink = LinkKey(.uplink(name), key.direction)
                return links[uplink]?.circuitBreaker.contradictsRoutes == true ? nil : lostUplinks[name]
            case .local: return nil
            case .missing(let reason): return reason
            }
        }
    }

    /// Uplinks first, so that their decisions hold for the links below; then by name, so that a seed repeats
    /// a run.
    static func ordered(_ keys: Set<LinkKey>) -> [LinkKey] {
        keys.map { ($0.destination == nil ? 0 : 1, $0.name, $0.direction.rawValue, $0) }
            .sorted { ($0.0, $0.1, $0.2) < ($1.0, $1.1, $1.2) }.map(\.3)
    }

    /// Makes the link and its uplink known. A command without a destination has no link.
    /// - Returns: both.
    mutating func touch(_ key: LinkKey, now: MonotonicTime) -> [LinkKey] {
        if key.destination?.text.isEmpty == true { return [] }
        let chain = chain(key)
        for key in chain where links[key] == nil {
            let isLocal = key.destination.map { route(of: $0) == .local } ?? false
            var link = LinkController(key: key, policy: policy, tuning: tuning, isLocal: isLocal, now: now)
            if let destination = key.destination, overrides[destination]?.isOffline == true {
                link.force(offline: true, now: now)
            }
            if let reason = missingRoute(key) {
                _ = link.circuitBreaker.routeLost(reason, chance: jitter.chance(), now: now)
            }
            links[key] = link
            ring.insert(key)
        }
        touched.formUnion(chain)
        return chain
    }
}
