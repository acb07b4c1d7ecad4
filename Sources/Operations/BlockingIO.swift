internal import NIOCore
internal import NIOPosix

/// Threads for file system calls that may block. The cooperative pool and the event loop never wait for a disk.
final class BlockingIO: Sendable {
    /// Opens and reads sources. A call to a file server that is gone never returns: so many must hang before others wait.
    static let sources = BlockingIO(threads: 16)
    /// Copies to `file:` destinations, so that a slow disk does not keep uploads to other places from their sources.
    static let copies = BlockingIO(threads: 2)

    private let pool: NIOThreadPool

    private init(threads: Int) {
        pool = NIOThreadPool(numberOfThreads: threads)
        pool.start()
    }

    func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await pool.runIfActive(work)
    }

    func run<Value: Sendable>(
        on loop: any EventLoop, _ work: @escaping @Sendable () throws -> Value
    ) -> EventLoopFuture<Value> {
        pool.runIfActive(eventLoop: loop, work)
    }
}
