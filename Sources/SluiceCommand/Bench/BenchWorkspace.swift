internal import Glibc
internal import Host
internal import Membership
internal import Store
internal import Synchronization

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
