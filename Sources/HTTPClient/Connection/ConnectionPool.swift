internal import NIOCore

/// The connections of a client, by origin. A request gets the youngest idle connection; without one it opens
/// a new one. Confined to its event loop.
final class ConnectionPool {
    /// A request that waits for a connection.
    final class Waiter {
        let request: HTTPRequest
        fileprivate var completion: ((Result<HTTPConnection, HTTPError>) -> Void)?
        fileprivate var timeout: Scheduled<Void>?

        fileprivate init(_ request: HTTPRequest, _ completion: @escaping (Result<HTTPConnection, HTTPError>) -> Void) {
            self.request = request
            self.completion = completion
        }

        /// The request is cancelled. A connection that is being opened for it goes to the idle ones.
        func cancel() { take()?(.failure(.stopped)) }

        fileprivate func take() -> ((Result<HTTPConnection, HTTPError>) -> Void)? {
            timeout?.cancel()
            defer { completion = nil }
            return completion
        }
    }

    private struct Connections {
        /// Oldest first.
        var idle: [HTTPConnection] = []
        /// Connections that are open or being opened.
        var count = 0
        var waiters: [Waiter] = []
    }

    private let loop: any EventLoop
    private let configuration: HTTPClientConfiguration
    private let connector: Connector
    private var origins: [HTTPOrigin: Connections] = [:]
    private var minimumRoundTrips = MinimumRoundTrips()
    private var isClosed = false

    init(loop: any EventLoop, configuration: HTTPClientConfiguration, connector: Connector) {
        self.loop = loop
        self.configuration = configuration
        self.connector = connector
    }

    /// Finds or opens a connection.
    /// - Parameter completion: is called exactly once; before this returns where a connection is idle.
    func acquire(
        for request: HTTPRequest, completion: @escaping (Result<HTTPConnection, HTTPError>) -> Void
    ) -> Waiter? {
        if let connection = takeIdle(for: request) {
            completion(.success(connection))
            return nil
        }
        let waiter = Waiter(request, completion)
        if origins[request.origin, default: Connections()].count < configuration.connectionsPerOrigin {
            open(for: waiter)
        } else {
            origins[request.origin, default: Connections()].waiters.append(waiter)
            waiter.timeout = loop.assumeIsolated().scheduleTask(in: TimeAmount(configuration.connectTimeout)) {
                [weak self] in
                self?.origins[request.origin]?.waiters.removeAll { $0 === waiter }
                waiter.take()?(.failure(.connectTimeout))
            }
        }
        return waiter
    }

    private func takeIdle(for request: HTTPRequest) -> HTTPConnection? {
        let now = NIODeadline.now()
        while let connection = origins[request.origin]?.idle.last {
            // The last one is the youngest. If it is too old for this request, so are the others.
            guard now - connection.idleSince <= TimeAmount(request.options.maxIdle) else { return nil }
            origins[request.origin]?.idle.removeLast()
            connection.expiry?.cancel()
            if connection.isActive, connection.isClean { return connection }
            connection.closeIdle()
        }
        return nil
    }

    private func open(for waiter: Waiter) {
        let origin = waiter.request.origin
        origins[origin, default: Connections()].count += 1
        connector.connect(to: origin, for: self) { [self] result in
            switch result {
            case .success(let connection) where connection.isActive && !isClosed:
                if let completion = waiter.take() { completion(.success(connection)) } else { release(connection) }
            case .success(let connection):
                connection.closeIdle()
                connectionEnded(origin)
                waiter.take()?(.failure(.closed))
            case .failure(let error):
                connectionEnded(origin)
                waiter.take()?(.failure(error))
            }
        }
    }

    /// Takes back a connection whose exchange is over and that can carry another one.
    func release(_ connection: HTTPConnection) {
        let origin = connection.origin
        while let waiter = origins[origin]?.waiters.first {
            origins[origin]?.waiters.removeFirst()
            guard let completion = waiter.take() else { continue }
            return completion(.success(connection))
        }
        let lifetime = min(TimeAmount(configuration.keepAlive), connection.keepAliveHint ?? .hours(1))
        guard lifetime > .zero, !isClosed else { return connection.closeIdle() }
        origins[origin, default: Connections()].idle.append(connection)
        connection.expiry = loop.assumeIsolated().scheduleTask(in: lifetime) { [weak self, weak connection] in
            guard let self, let connection else { return }
            remove(connection)
            connection.closeIdle()
        }
    }

    /// Removes a connection that has ended.
    func closed(_ connection: HTTPConnection) {
        connection.expiry?.cancel()
        remove(connection)
        connectionEnded(connection.origin)
    }

    private func connectionEnded(_ origin: HTTPOrigin) {
        guard var connections = origins[origin] else { return }
        connections.count -= 1
        let waiter = connections.waiters.isEmpty ? nil : connections.waiters.removeFirst()
        origins[origin] = connections.count == 0 && connections.waiters.isEmpty && waiter == nil ? nil : connections
        if let waiter { open(for: waiter) }
    }

    private func remove(_ connection: HTTPConnection) {
        origins[connection.origin]?.idle.removeAll { $0 === connection }
    }

    /// Closes the idle connections to an address. One of them turned out to be dead, so most likely all are.
    func closeIdle(to address: SocketAddress?) {
        guard let address else { return }
        for connection in origins.values.flatMap(\.idle) where connection.peer == address {
            connection.expiry?.cancel()
            remove(connection)
            connection.closeIdle()
        }
    }

    /// Closes every idle connection, and keeps none from now on.
    func close() {
        isClosed = true
        for connection in origins.values.flatMap(\.idle) {
            connection.expiry?.cancel()
            connection.closeIdle()
        }
        for key in origins.keys { origins[key]?.idle = [] }
    }

    /// Adds a measurement in microseconds.
    /// - Returns: the minimum round trip to the address in microseconds; 0 where none is known.
    func minimumRoundTrip(_ roundTrip: Duration?, to address: SocketAddress?) -> Duration? {
        guard let address else { return roundTrip }
        return minimumRoundTrips.add(roundTrip, to: address, now: .now())
    }
}
