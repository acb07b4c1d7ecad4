internal import NIOCore

/// One exchange on its way to a connection. Any thread may start and cancel it.
package final class HTTPCall: @unchecked Sendable {
    // Unchecked: after `init` its state is touched on the event loop alone.
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
    private var state = State.new

    init(
        _ request: HTTPRequest, _ exchange: any HTTPExchange & Sendable, loop: any EventLoop,
        pool: NIOLoopBoundBox<ConnectionPool>
    ) {
        self.request = request
        self.exchange = exchange
        self.loop = loop
        self.pool = pool
    }

    package func start() {
        loop.execute { [self] in
            guard case .new = state else { return exchange.ended(HTTPExchangeEnd(.stopped)) }
            state = .waiting(nil)
            let waiter = pool.value.acquire(for: request) { [self] result in
                guard case .waiting = state else {
                    if case .success(let connection) = result { pool.value.release(connection) }
                    return
                }
                switch result {
                case .success(let connection):
                    state = .running(connection)
                    connection.begin(request, exchange)
                case .failure(let error):
                    state = .over
                    exchange.ended(HTTPExchangeEnd(error))
                }
            }
            if case .waiting = state { state = .waiting(waiter) }
        }
    }

    /// Ends it with ``HTTPError/stopped``: a connection in use is reset, one that is being opened is kept for others.
    package func cancel() {
        loop.execute { [self] in
            switch state {
            case .new: state = .over
            case .waiting(let waiter): waiter?.cancel()
            case .running(let connection): if connection.exchange === exchange { connection.stop() }
            case .over: break
            }
        }
    }
}
