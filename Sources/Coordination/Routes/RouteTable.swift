package import NetworkControl

/// The kernel's interfaces and routes, and the uplink by which a packet leaves. Pure.
package struct RouteTable: Sendable, Equatable {
    package struct Interface: Sendable, Equatable {
        package var name: String
        /// A person or a program switched it on.
        package var isUp: Bool
        /// The cable is in, or the radio has a partner.
        package var hasCarrier: Bool
        package var isLoopback = false
    }

    /// RTN_…
    package enum Kind: UInt8, Sendable {
        case unicast = 1
        case local = 2
        case blackhole = 6
        case unreachable = 7
        case prohibit = 8
    }

    package struct Hop: Sendable, Equatable {
        /// Index of the interface; 0 where the kernel does not say.
        package var interface: Int32 = 0
        /// Nil on a network that is directly connected.
        package var gateway: [UInt8]?
        package var isDead = false
    }

    package struct Entry: Sendable, Equatable {
        package var prefix: IPAddress
        package var length: Int
        package var table: UInt32
        /// The lowest is preferred.
        package var metric: UInt32 = 0
        package var kind: Kind
        /// At least one.
        package var hops: [Hop] = []
    }

    package var interfaces: [Int32: Interface] = [:]
    package var entries: [Entry] = []

    private static let mainTable: UInt32 = 254
    private static let localTable: UInt32 = 255

    package init() {}

    /// There is only loopback, as in a namespace without a network.
    package var isIsolated: Bool { interfaces.values.allSatisfy(\.isLoopback) }

    // MARK: Where packets leave

    /// By the longest prefix, then the lowest metric, that has a living interface. Tables other than main and
    /// local count where main has no route: rules may lead there. An offer without a route costs one failed
    /// connect, while a command that is held back wrongly is never sent.
    /// - Returns: `.uplink("")` by the main default route or its gateway, `.uplink` with the interface's name
    ///   by any other.
    package func route(to address: IPAddress) -> Route {
        if address.isLoopback { return .local }
        let candidates = entries.filter { address.matches($0.prefix, length: $0.length) }
        if candidates.contains(where: { $0.table == Self.localTable && $0.kind == .local }) { return .local }
        var problem: LinkReason?
        for entry in candidates.sorted(by: Self.goesBefore) where entry.table != Self.localTable {
            switch entry.kind {
            case .local: return .local
            case .unicast:
                if let hop = living(entry) { return .uplink(name(of: hop, by: entry)) }
                problem = problem ?? entry.hops.first.flatMap { trouble(with: $0) }
            case .blackhole, .unreachable, .prohibit:
                guard entry.table == Self.mainTable else { continue }
                return .missing(problem ?? .route(.blockedRoute, address.description, kind: "\(entry.kind)"))
            }
        }
        return .missing(problem ?? .route(.noRoute, address.description))
    }

    /// Uplinks that lead nowhere, each with its reason: the main one, as the empty name, without a default
    /// route that lives; others without a living interface.
    package var lostUplinks: [String: LinkReason] {
        var lost: [String: LinkReason] = [:]
        for interface in interfaces.values { lost[interface.name] = Self.trouble(with: interface) }
        if mainHop == nil {
            let dead = defaults.lazy.compactMap { $0.hops.first }.first
            lost[""] = dead.flatMap { trouble(with: $0) } ?? .route(.noDefaultRoute)
        }
        return lost
    }

    // MARK: The main uplink

    /// Default routes, those of IPv4 before those of IPv6.
    private var defaults: [Entry] {
        let all = entries.filter { $0.length == 0 && $0.kind == .unicast && $0.table != Self.localTable }
            .sorted(by: Self.goesBefore)
        return all.filter { !$0.prefix.isV6 } + all.filter(\.prefix.isV6)
    }

    private var mainHop: Hop? { defaults.lazy.compactMap { living($0) }.first }

    /// Interface and gateway of the main uplink; nil where none lives.
    package var mainUplink: Hop? { mainHop }

    private func name(of hop: Hop, by entry: Entry) -> String {
        guard let main = mainHop else { return interfaces[hop.interface]?.name ?? "" }
        // The same gateway carries it, or the same wire in the other family.
        let isMain =
            main.interface == hop.interface
            && (entry.length == 0 || hop.gateway != nil && hop.gateway == main.gateway)
        return isMain ? "" : interfaces[hop.interface]?.name ?? ""
    }

    // MARK: Life

    private func living(_ entry: Entry) -> Hop? { entry.hops.first { trouble(with: $0) == nil } }

    private func trouble(with hop: Hop) -> LinkReason? {
        if let interface = interfaces[hop.interface] {
            return Self.trouble(with: interface) ?? (hop.isDead ? .route(.deadRoute, interface.name) : nil)
        }
        return hop.isDead ? .route(.interfaceGone) : nil
    }

    private static func trouble(with interface: Interface) -> LinkReason? {
        if !interface.isUp { return .route(.interfaceDown, interface.name) }
        return interface.hasCarrier ? nil : .route(.noCarrier, interface.name)
    }

    private static func goesBefore(_ left: Entry, _ right: Entry) -> Bool { left.rank < right.rank }
}

extension RouteTable.Entry {
    /// Main before other tables, the longer prefix before the shorter, the lower metric before the higher.
    fileprivate var rank: (Int, Int, UInt32) { (table == 254 ? 0 : 1, -length, metric) }
}

/// The uplinks of this host as the kernel's routes described them last. Pure.
struct UplinkState {
    enum Change: Equatable {
        /// The main uplink has another interface or gateway.
        case mainReplaced
        /// An uplink leads nowhere, or does so for another reason; the main one has the empty name.
        case lost(name: String, reason: LinkReason)
        case found(name: String)
    }

    /// Why each lost uplink leads nowhere, by its name.
    private var lost: [String: LinkReason] = [:]
    /// The last that lived.
    private var main: RouteTable.Hop?

    /// - Parameter main: interface and gateway of the main uplink; nil where it is lost.
    mutating func update(lost new: [String: LinkReason], main newMain: RouteTable.Hop?) -> [Change] {
        var changes: [Change] = []
        if let newMain, let main, newMain != main { changes.append(.mainReplaced) }
        main = newMain ?? main
        for (name, reason) in new.sorted(by: { $0.key < $1.key }) where lost[name] != reason {
            changes.append(.lost(name: name, reason: reason))
        }
        for name in lost.keys.sorted() where new[name] == nil { changes.append(.found(name: name)) }
        lost = new
        return changes
    }
}
