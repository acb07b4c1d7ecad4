internal import Glibc
internal import Host
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Looks names up with getaddrinfo(3). A name has at most one look-up in flight, on a thread of its own, so a
/// name that does not resolve delays no other. A failure is remembered for 5 s, which costs one look-up for
/// all commands to one dead name.
final class NameResolver: Sendable {
    private enum Entry {
        case running([EventLoopPromise<[SocketAddress]>])
        case failed(HTTPError, until: NIODeadline)

        func isExpired(_ now: NIODeadline) -> Bool {
            if case .failed(_, let until) = self { now >= until } else { false }
        }
    }

    private let entries = Mutex<[String: Entry]>([:])
    private let threads: BlockingPool
    private let lookUp: @Sendable (String) -> Result<[SocketAddress], HTTPError>

    /// A look-up holds its thread while no name server answers, so the calls of ``BlockingPool/shared`` do not wait for it.
    private static let pool = BlockingPool(named: "sluice-resolve", maxThreads: 256)
    /// How long a failure is remembered.
    static let failureLifetime: TimeAmount = .seconds(5)
    /// Failures that are remembered at once.
    private static let maxEntries = 4096

    /// - Parameter lookUp: replaces getaddrinfo(3) in tests.
    init(
        threads: BlockingPool = NameResolver.pool,
        lookUp: @escaping @Sendable (String) -> Result<[SocketAddress], HTTPError> = NameResolver.getaddrinfo
    ) {
        self.threads = threads
        self.lookUp = lookUp
    }

    /// The addresses of a host in the order of RFC 6724, with port 0.
    /// - Returns: a future that fails with ``HTTPError/nameNotResolved(host:code:)``.
    func addresses(of host: String, on loop: any EventLoop) -> EventLoopFuture<[SocketAddress]> {
        let promise = loop.makePromise(of: [SocketAddress].self)
        enum Next {
            case ask, wait
            case fail(HTTPError)
        }
        let next: Next = entries.withLock { entries in
            switch entries[host] {
            case .running(let promises):
                entries[host] = .running(promises + [promise])
                return .wait
            case .failed(let error, let until) where NIODeadline.now() < until: return .fail(error)
            case .failed, nil:
                entries[host] = .running([promise])
                return .ask
            }
        }
        switch next {
        case .ask: threads.perform { [self] in settle(host, lookUp(host)) }
        case .wait: break
        case .fail(let error): promise.fail(error)
        }
        return promise.futureResult
    }

    private func settle(_ host: String, _ result: Result<[SocketAddress], HTTPError>) {
        let promises = entries.withLock { entries -> [EventLoopPromise<[SocketAddress]>] in
            guard case .running(let promises)? = entries.removeValue(forKey: host) else { return [] }
            if case .failure(let error) = result {
                let now = NIODeadline.now()
                if entries.count >= Self.maxEntries { entries = entries.filter { !$0.value.isExpired(now) } }
                entries[host] = .failed(error, until: now + Self.failureLifetime)
            }
            return promises
        }
        for promise in promises { promise.completeWith(result.mapError { $0 as any Error }) }
    }

    private static func getaddrinfo(_ host: String) -> Result<[SocketAddress], HTTPError> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_protocol = Int32(IPPROTO_TCP)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = Glibc.getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else { return .failure(.nameNotResolved(host: host, code: code)) }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ai_next
            guard let address = entry.ai_addr else { continue }
            switch entry.ai_family {
            case AF_INET:
                address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    addresses.append(SocketAddress($0.pointee, host: host))
                }
            case AF_INET6:
                address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    addresses.append(SocketAddress($0.pointee, host: host))
                }
            default: break
            }
        }
        return addresses.isEmpty ? .failure(.nameNotResolved(host: host, code: EAI_NONAME)) : .success(addresses)
    }
}

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
