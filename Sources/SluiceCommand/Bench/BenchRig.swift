internal import Commands
internal import Glibc
internal import Host
internal import Membership
internal import Sluice
internal import Store
internal import Synchronization

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

/// The temporary directory and the processes of a bench, which are all removed at the end.
final class BenchWorkspace: Sendable {
    let path: String
    /// The database of the stores that are measured; nil: they are in data directories.
    private let database: String?
    /// The URLs of the stores that were made in it.
    private let stores = Mutex<[String]>([])
    private let processes = Mutex<[BenchProcess]>([])
    private let names = Mutex(0)

    /// - Parameters:
    ///   - parent: a directory on the disk that is to be measured.
    ///   - database: the URL of a database in which each store gets a schema; nil: stores are in data directories.
    init(parent: String?, database: String? = nil) throws {
        self.database = database
        // No process of the bench works on the store of this environment.
        for variable in [ConfiguredStore.variable, ConfiguredStore.directVariable] { unsetenv(variable) }
        let variable = try ByteText.variable("TMPDIR")
        let parent = parent ?? (variable?.isEmpty == false ? variable : nil) ?? "/var/tmp"
        var template = Array("\(parent)/sluice-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw ExitError(
                .cannotCreate, "\(SystemError("create a temporary directory in", parent))")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A path for a data directory that does not exist yet.
    func newDirectory() -> String {
        let number = names.withLock { number in
            number += 1
            return number
        }
        return "\(path)/\(number)"
    }

    /// Makes an empty store. The processes that are started from now on work on it, where it is in a database.
    func newStore() throws -> OpenedStore {
        let directory = DataDirectory(path: newDirectory())
        guard let database else { return try Stores.open(.directory(directory), create: true) }
        let schema = "sluice_bench_\(UInt32.random(in: 0 ... .max))"
        let url = "\(database)\(database.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")schema=\(schema)"
        try PostgreSQLStore.create(url: url)
        stores.withLock { $0.append(url) }
        setenv(ConfiguredStore.variable, url, 1)
        return try Stores.open(.server(url: url, directory), create: true)
    }

    private func removeStores() {
        let made = stores.withLock { stores in
            defer { stores = [] }
            return stores
        }
        for url in made { try? PostgreSQLStore.remove(url: url) }
        unsetenv(ConfiguredStore.variable)
    }

    func start(_ arguments: [String], executable: String = Executable.path, output: String? = nil) throws
        -> BenchProcess
    {
        let number = names.withLock { number in
            number += 1
            return number
        }
        let process = try BenchProcess(
            executable: executable, arguments: arguments, output: output, errors: "\(path)/errors-\(number)")
        processes.withLock { $0.append(process) }
        return process
    }

    /// Ends the processes and removes a data directory, so that the next figure starts on a clean disk.
    func clear(_ directory: String) {
        stopAll()
        removeStores()
        Self.remove(directory)
    }

    func stopAll() {
        let running = processes.withLock { processes in
            defer { processes = [] }
            return processes
        }
        for process in running { process.kill(SIGKILL) }
        for process in running { _ = process.wait() }
    }

    /// Removes everything, also while a figure of another thread makes new files in the directory.
    func removeAll() {
        for _ in 0..<20 {
            stopAll()
            removeStores()
            Self.remove(path)
            if access(path, F_OK) != 0 { return }
        }
    }

    static func remove(_ path: String) {
        guard let listing = opendir(path) else {
            unlink(path)
            return
        }
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name == "." || name == ".." { continue }
            let child = "\(path)/\(name)"
            if entry.pointee.d_type == UInt8(DT_DIR) { remove(child) } else { unlink(child) }
        }
        closedir(listing)
        rmdir(path)
    }
}
