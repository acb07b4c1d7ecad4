internal import NIOCore

/// An exchange that waits for a connection or uses one. Any thread may start and cancel it.
package final class HTTPCall: Sendable {
    private enum State {
        case new
        case waiting(ConnectionPool.Waiter?)
        case running(HTTPConnection)
        case over
    }

    private let request: HTTPRequest
    private let exchange: any HTTPExchange & Sendable
    private let loop: any EventLoop
    private let pool: NIOLoopBoundBox<ConnectionPool>
    private let state: NIOLoopBoundBox<State>

    init(
        _ request: HTTPRequest, _ exchange: any HTTPExchange & Sendable, loop: any EventLoop,
        pool: NIOLoopBoundBox<ConnectionPool>
    ) {
        self.request = request
        self.exchange = exchange
        self.loop = loop
        self.pool = pool
        state = .makeBoxSendingValue(.new, eventLoop: loop)
    }

    package func start() {
        loop.execute { [self] in
            guard case .new = state.value else { return exchange.ended(HTTPExchangeEnd(.stopped)) }
            state.value = .waiting(nil)
            let waiter = pool.value.acquire(for: request) { [self] result in
                guard case .waiting = state.value else {
                    if case .success(let connection) = result { pool.value.release(connection) }
                    return
                }
                switch result {
                case .success(let connection):
                    state.value = .running(connection)
                    connection.begin(request, exchange)
                case .failure(let error):
                    state.value = .over
                    exchange.ended(HTTPExchangeEnd(error))
                }
            }
            if case .waiting = state.value { state.value = .waiting(waiter) }
        }
    }

    /// Ends the exchange with ``HTTPError/stopped``. A connection in use is reset. A connection that is being
    /// opened goes to the idle ones.
    package func cancel() {
        loop.execute { [self] in
            switch state.value {
            case .new: state.value = .over
            case .waiting(let waiter): waiter?.cancel()
            case .running(let connection): if connection.exchange === exchange { connection.stop() }
            case .over: break
            }
        }
    }
}
