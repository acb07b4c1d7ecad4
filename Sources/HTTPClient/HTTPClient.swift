package import NIOCore
internal import NIOPosix
internal import Synchronization

/// The HTTP/1.1 client of a process, on one event loop. It starts with the first request, so an idle process
/// has neither its thread nor its certificates in memory.
package final class HTTPClient: Sendable {
    private struct Engine: Sendable {
        let group: MultiThreadedEventLoopGroup
        let loop: any EventLoop
        let pool: NIOLoopBoundBox<ConnectionPool>
    }

    package let configuration: HTTPClientConfiguration
    private let engine = Mutex<Engine?>(nil)

    package init(configuration: HTTPClientConfiguration) { self.configuration = configuration }

    deinit {
        guard let engine = engine.withLock({ $0 }) else { return }
        engine.loop.execute { engine.pool.value.close() }
        engine.group.shutdownGracefully { _ in }
    }

    /// The event loop on which the methods of every exchange are called.
    package var loop: any EventLoop { running().loop }

    /// Prepares an exchange, which begins with ``HTTPCall/start()``.
    package func call(_ request: HTTPRequest, _ exchange: any HTTPExchange & Sendable) -> HTTPCall {
        let engine = running()
        return HTTPCall(request, exchange, loop: engine.loop, pool: engine.pool)
    }

    private func running() -> Engine {
        engine.withLock { engine in
            if let engine { return engine }
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let loop = group.next()
            let connector = Connector(loop: loop, configuration: configuration, resolver: NameResolver())
            let pool = ConnectionPool(loop: loop, configuration: configuration, connector: connector)
            let new = Engine(group: group, loop: loop, pool: .makeBoxSendingValue(pool, eventLoop: loop))
            engine = new
            return new
        }
    }
}
