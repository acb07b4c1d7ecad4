internal import NIOCore
internal import Synchronization

/// Threads for file system calls that may block, in a ``FileSystemLane`` for each file system. The cooperative pool and the
/// event loop never wait for a disk, and no file system waits for another one.
final class BlockingIO: Sendable {
    /// Opens and reads sources.
    static let sources = BlockingIO(maxThreads: 16, callLimit: .seconds(10))
    /// Copies to `file:` destinations: more at once make a disk slower. A sync of 256 MiB may take its time.
    static let copies = BlockingIO(maxThreads: 4, callLimit: .seconds(30))

    private let maxThreads: Int
    private let callLimit: Duration
    private let lanes = Mutex<[String: FileSystemLane]>([:])

    private init(maxThreads: Int, callLimit: Duration) {
        self.maxThreads = maxThreads
        self.callLimit = callLimit
    }

    /// The lane of the file system that holds an absolute path, as far as the path itself tells.
    func lane(of path: String) -> FileSystemLane {
        let mount = CurrentMounts.shared.mount(of: path)
        return lane(mount?.device ?? "", mount?.point ?? "/")
    }

    /// The lane of calls that read one path and write the other. Either file system can hang them, so where the two differ
    /// the calls have threads of their own.
    func lane(from source: String, to target: String) -> FileSystemLane {
        let (from, to) = (CurrentMounts.shared.mount(of: source), CurrentMounts.shared.mount(of: target))
        guard let from, let to, from.device != to.device else { return lane(of: target) }
        return lane("\(from.device) \(to.device)", "\(to.point), or the one at \(from.point),")
    }

    private func lane(_ key: String, _ name: String) -> FileSystemLane {
        lanes.withLock { lanes in
            if let lane = lanes[key] { return lane }
            let lane = FileSystemLane(name: name, maxThreads: maxThreads, callLimit: callLimit)
            lanes[key] = lane
            return lane
        }
    }

    /// Makes a call to the file system that holds `path`; see ``FileSystemLane/run(late:_:)``.
    func run<Value: Sendable>(
        at path: String = "/", _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await lane(of: path).run { _ in try work() }
    }

    func run<Value: Sendable>(
        at path: String = "/", on loop: any EventLoop, _ work: @escaping @Sendable () throws -> Value
    ) -> EventLoopFuture<Value> {
        let promise = loop.makePromise(of: Value.self)
        lane(of: path).add(LaneCall(), { _ in try work() }, completion: { promise.completeWith($0) })
        return promise.futureResult
    }
}
