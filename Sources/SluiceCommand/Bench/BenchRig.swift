internal import Commands
internal import Glibc
internal import Host
internal import Membership
internal import Sluice
internal import Store

/// A store of a bench, and the processes on it.
struct BenchRig {
    let workspace: BenchWorkspace
    let opened: OpenedStore

    init(_ workspace: BenchWorkspace) throws {
        self.workspace = workspace
        opened = try workspace.newStore()
    }

    var store: any CommandStore { opened.store }
    var directory: DataDirectory { opened.directory }

    // MARK: Processes

    func coordinator() throws -> BenchProcess {
        try start(["coordinator"])
    }

    func worker(concurrency: Int = 16) throws -> BenchProcess {
        try start(["worker", "--concurrency", "\(concurrency)", "--grace", "1s"])
    }

    /// Starts a subcommand on this directory.
    func start(_ arguments: [String]) throws -> BenchProcess {
        try workspace.start(arguments + ["--data", directory.path, "--log-level", "warning"])
    }

    func child(_ arguments: [String], output: String? = nil) throws -> BenchProcess {
        try workspace.start(["bench-child"] + arguments + ["--data", directory.path], output: output)
    }

    var hasCoordinator: Bool { opened.presence.holder(of: .coordinator) != nil }

    /// Waits until the coordinator has its role and each worker its session.
    func untilReady(workers: Int) throws {
        try BenchClock.wait("the coordinator and \(workers) workers", seconds: 30) {
            let sessions = (try? store.sessions()) ?? []
            return hasCoordinator && sessions.count >= workers
        }
    }

    // MARK: Commands

    static func noop(milliseconds: Int = 0, qos: QualityOfService = .default) -> CommandDraft {
        CommandDraft(
            type: CommandType.noop, payload: Array("{\"milliseconds\":\(milliseconds)}".utf8), destination: .none,
            qos: qos, idempotent: true)
    }

    /// Submits no-ops in bulk, as `submit -` does.
    @discardableResult
    func fill(_ count: Int, milliseconds: Int = 0, qos: QualityOfService = .default) throws -> [CommandID] {
        let draft = Self.noop(milliseconds: milliseconds, qos: qos)
        var ids: [CommandID] = []
        ids.reserveCapacity(count)
        var left = count
        while left > 0 {
            let batch = min(left, 10_000)
            for result in store.submit(Array(repeating: draft, count: batch), allowUnknownTypes: false) {
                ids.append(try result.get().id)
            }
            left -= batch
        }
        return ids
    }

    func successes() throws -> Int { try store.counts()[.success] }

    /// Transitions recorded so far.
    func transitions() throws -> Int64 {
        var sum: Int64 = 0
        for shard in 0..<store.shardCount { sum += try store.lastTransition(shard: shard) }
        return sum
    }

    func clear() { workspace.clear(directory.path) }

    /// Removes the data, and leaves the processes running.
    func removeData() { BenchWorkspace.remove(directory.path) }
}

/// Runs part of a bench on a thread of its own: it blocks for up to minutes.
func onBenchThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await BlockingPool.shared.run { Result { try body() } }.get()
}
