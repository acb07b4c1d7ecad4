package import Commands
package import HTTPClient

/// The origins, addresses and files that a confined command may reach. Its payload has `"confined": true`, as the door sets
/// it for every command that came over HTTP. The worker checks the limits when the command runs, by the section
/// `door.submit` that the worker has read. Pure.
///
/// An origin must be listed. So must an address that is not public, because the name of a listed origin may lead to any
/// address by the time of the connect (DNS rebinding). A proxy is excepted: it resolves names itself, so its own rules say
/// which addresses it connects to.
package struct Confinement: Sendable, Equatable {
    /// `door.submit.destinations`: the origins that it may talk to. The default is none.
    package var destinations: Set<Destination> = []
    /// `door.submit.networks`: networks that names may lead to although they are not public. The default is none.
    package var networks: [IPNetwork] = []
    /// `door.submit.sources`: directories whose files it may read. The default is none.
    package var sources: [String] = []

    package init() {}

    /// Why a confined command may not talk to a destination, in a clause; nil where it may.
    package func objection(to destination: Destination) -> String? {
        guard !destinations.contains(destination) else { return nil }
        return
            "commands over HTTP may not talk to \(destination); list it in door.submit.destinations, and restart the "
            + "workers, if they should"
    }

    /// Why a confined command may not connect to an address of a listed origin, in a clause; nil where it may.
    /// - Parameter host: of the origin. An address, and `localhost`, was listed for itself.
    package func objection(toHost host: String, at address: IPNetwork) -> String? {
        if IPNetwork(host) == address || address.isPublic { return nil }
        if host == "localhost", Self.loopback.contains(where: { $0.contains(address) }) { return nil }
        let forms = [address] + (address.translated.map { [$0] } ?? [])
        guard !networks.contains(where: { network in forms.contains(where: network.contains) }) else { return nil }
        return
            "the address of \(host) is \(address), which is not public; list its network in door.submit.networks, and "
            + "restart the workers, if commands over HTTP may reach it"
    }

    private static let loopback = ["127.0.0.0/8", "::1"].compactMap { IPNetwork($0) }
}
