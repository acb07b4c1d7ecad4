package import Commands

/// Names a link: a destination and a direction, or the host's own uplink above the destinations that share
/// it.
package struct LinkKey: Hashable, Sendable {
    package enum Scope: Hashable, Sendable {
        case destination(Destination)
        /// All that leaves by one default route. The caller names it; the main one has the empty name.
        case uplink(String)
    }

    package var scope: Scope
    package var direction: Direction

    package init(_ scope: Scope, _ direction: Direction) {
        self.scope = scope
        self.direction = direction
    }

    package init(_ destination: Destination, _ direction: Direction) { self.init(.destination(destination), direction) }

    /// The link with a ``name``.
    package init(name: String, _ direction: Direction) {
        let isUplink = name.hasPrefix("*")
        self.init(
            isUplink ? .uplink(String(name.dropFirst())) : .destination(Destination(unchecked: name)), direction)
    }

    /// The destination of a link that is not an uplink.
    package var destination: Destination? {
        switch scope {
        case .destination(let destination): destination
        case .uplink: nil
        }
    }

    /// The name in events and output: the destination, `*` for the main uplink, `*name` for another.
    package var name: String {
        switch scope {
        case .destination(let destination): destination.text
        case .uplink(let route): "*\(route)"
        }
    }
}

/// How the packets of a destination leave this host, according to the kernel's routing table.
package enum Route: Sendable, Hashable {
    /// By a default route, which other destinations share. The caller names it; the main one has the empty
    /// name.
    case uplink(String)
    /// Over loopback or into the file system: no network lies between, so concurrency starts at its limit.
    case local
    /// There is no route, according to the kernel.
    case missing(LinkReason)
}
