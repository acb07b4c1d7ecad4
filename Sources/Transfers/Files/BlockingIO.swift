internal import NIOCore
internal import Synchronization

/// File system calls that may block, in a ``FileSystemQueue`` per file system. So the cooperative pool and
/// the event loop never wait for a disk, and no file system delays the calls to another one.
package final class BlockingIO: Sendable {
    /// For opening and reading sources.
    package static let sources = BlockingIO(maxThreads: 16, callTimeout: .seconds(10))
    /// For copies to `file:` destinations. More than 4 at once make a disk slower. A sync of 256 MiB may take
    /// long.
    package static let copies = BlockingIO(maxThreads: 4, callTimeout: .seconds(30))

    private let maxThreads: Int
    private let callTimeout: Duration
    private let queues = Mutex<[String: FileSystemQueue]>([:])

    private init(maxThreads: Int, callTimeout: Duration) {
        self.maxThreads = maxThreads
        self.callTimeout = callTimeout
    }

    /// The queue of the file system that holds an absolute path. Symbolic links are not followed.
    package func queue(of path: String) -> FileSystemQueue {
        let mount = CurrentMounts.shared.mount(of: path)
        return queue(mount?.device ?? "", mount?.point ?? "/")
    }

    /// The queue for calls that read one path and write the other. Either file system can hang such a call,
    /// so each pair of file systems has threads of its own.
    package func queue(from source: String, to target: String) -> FileSystemQueue {
        let (from, to) = (CurrentMounts.shared.mount(of: source), CurrentMounts.shared.mount(of: target))
        guard let from, let to, from.device != to.device else { return queue(of: target) }
        return queue("\(from.device) \(to.device)", "\(to.point), or the one at \(from.point),")
    }

    private func queue(_ key: String, _ name: String) -> FileSystemQueue {
        queues.withLock { queues in
            if let queue = queues[key] { return queue }
            let queue = FileSystemQueue(name: name, maxThreads: maxThreads, callTimeout: callTimeout)
            queues[key] = queue
            return queue
        }
    }

    /// Makes a call to the file system that holds `path`; see ``FileSystemQueue/run(onLateResult:_:)``.
    package func run<Value: Sendable>(
        at path: String = "/", _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await queue(of: path).run { _ in try work() }
    }

    func run<Value: Sendable>(
        at path: String = "/", on loop: any EventLoop, _ work: @escaping @Sendable () throws -> Value
    ) -> EventLoopFuture<Value> {
        let promise = loop.makePromise(of: Value.self)
        queue(of: path).add(FileSystemCall(), { _ in try work() }, completion: { promise.completeWith($0) })
        return promise.futureResult
    }
}
