internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// The resolver of one connect, for NIO's Happy Eyeballs (RFC 8305). It answers both families from one
/// look-up, without the addresses that are not permitted.
struct PermittedAddresses: Resolver, Sendable {
    let addresses: EventLoopFuture<[SocketAddress]>

    /// - Parameter objection: as ``HTTPClientConfiguration/addressObjection``.
    init(
        _ resolver: NameResolver, host: String, on loop: any EventLoop,
        objection: (@Sendable (String, SocketAddress) -> String?)?
    ) {
        let found = resolver.addresses(of: host, on: loop)
        guard let objection else {
            addresses = found
            return
        }
        addresses = found.flatMapThrowing { all in
            let permitted = all.filter { objection(host, $0) == nil }
            guard permitted.isEmpty, let first = all.first, let reason = objection(host, first) else {
                return permitted
            }
            throw HTTPError.notPermitted(reason)
        }
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { family(.inet, port) }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { family(.inet6, port) }

    func cancelQueries() {}

    private func family(_ family: NIOBSDSocket.ProtocolFamily, _ port: Int) -> EventLoopFuture<[SocketAddress]> {
        addresses.map { all in
            all.filter { $0.protocol == family }.map { address in
                var address = address
                address.port = port
                return address
            }
        }
    }
}
