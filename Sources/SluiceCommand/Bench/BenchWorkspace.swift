internal import Glibc
internal import Host
internal import Synchronization

/// The temporary directory and the processes of a bench, which are all removed at the end.
final class BenchWorkspace: Sendable {
    let path: String
    private let processes = Mutex<[BenchProcess]>([])
    private let names = Mutex(0)

    /// - Parameter parent: a directory on the disk that is to be measured.
    init(parent: String?) throws {
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
