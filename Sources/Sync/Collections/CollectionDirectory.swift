internal import Commands
internal import Glibc
internal import HTTPClient
package import Host

/// The collections of a data directory: the names of their files and locks.
///
/// ```
/// <data>/collections/               0700; made with the first sync. A symbolic link where
///                                   `collections.directory` names another directory
///   <name>.sqlite                   0600; with -wal and -shm beside it, which stay
/// <data>/run/collection-<name>.lock ``CollectionLock``
/// ```
///
/// Where the directory may be read by its group (0750), so may the files (0640): then programs of other users
/// of the group read the collections. The data directory stays closed to them, so the directory lies
/// elsewhere.
package struct CollectionDirectory: Sendable, Hashable {
    /// `<data>/collections`
    package let path: String
    private let run: String
    /// The directory that ``path`` leads to; nil where it is a directory itself, or leads where it does.
    private let target: String?

    private static let suffix = ".sqlite"

    /// - Parameters:
    ///   - data: the path of the data directory.
    ///   - target: `collections.directory`, absolute; nil: as it is, or in the data directory.
    package init(data: String, at target: String? = nil) {
        path = "\(data)/collections"
        run = "\(data)/run"
        self.target = target
    }

    package func file(_ name: String) -> String { "\(path)/\(name)\(Self.suffix)" }

    /// The files of a collection; `-wal` and `-shm` exist from the first write on.
    func files(of name: String) -> [String] { ["", "-wal", "-shm"].map { file(name) + $0 } }

    func lock(_ name: String) -> String { "\(run)/collection-\(name).lock" }

    /// Whether a text is the name of a collection: 1 to 64 of a to z, 0 to 9 and the hyphen.
    package static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0 >= UInt8(ascii: "a") && $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "-") }
    }

    /// The names of the collections, sorted; none where nothing was ever synced. A file without a byte, which
    /// a process leaves that ends before the first page, is left out.
    package func names() throws(SystemError) -> [String] {
        guard let listing = opendir(path) else {
            if errno == ENOENT { return [] }
            throw SystemError("read", path)
        }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let file = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let file, file.endsWithBytes(of: Self.suffix) else { continue }
            let name = String(file.dropLast(Self.suffix.count))
            if Self.isName(name), !isEmpty(name) { names.append(name) }
        }
        return names.sorted()
    }

    /// The mode of the files: the group may read them where it may read the directory. SQLite gives `-wal`
    /// and `-shm` the mode of the file.
    var fileMode: mode_t {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & 0o050 == 0o050 ? 0o640 : 0o600
    }

    /// Makes the directory, and an empty file for a collection that has none. Files of another mode than that
    /// of the directory get it.
    /// - Throws: ``CollectionError``
    func make(_ name: String) throws(CollectionError) {
        do throws(SystemError) {
            if let target { try makeLink(to: target) } else { try Self.makeDirectory(path) }
            try Self.makeFile(file(name))
            let mode = fileMode
            for file in files(of: name) { try Self.set(mode, of: file) }
        } catch {
            throw CollectionError(error)
        }
    }

    private static func makeDirectory(_ path: String) throws(SystemError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemError("create the directory", path) }
    }

    /// A file that exists is not opened: the end of any descriptor of a process ends its locks of SQLite on
    /// the file.
    private static func makeFile(_ file: String) throws(SystemError) {
        do throws(SystemError) {
            close(try openFile(file, O_RDWR | O_CREAT | O_EXCL))
        } catch {
            guard error.code == EEXIST else { throw error }
        }
    }

    private static func set(_ mode: mode_t, of file: String) throws(SystemError) {
        var status = stat()
        // Another owner has decided about its file.
        guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o777 != mode,
            status.st_uid == geteuid()
        else { return }
        guard chmod(file, mode) == 0 else { throw SystemError("change the mode of", file) }
    }

    /// Makes ``path`` a link to the configured directory. An empty directory makes room for it.
    private func makeLink(to target: String) throws(SystemError) {
        try Self.makeDirectory(target)
        var status = stat()
        if lstat(path, &status) == 0 {
            if status.st_mode & S_IFMT == S_IFLNK, Self.target(of: path) == target { return }
            let isRemoved = status.st_mode & S_IFMT == S_IFDIR ? rmdir(path) == 0 : false
            guard isRemoved else {
                throw SystemError(
                    EEXIST,
                    attempt: "use the directory “\(target)” for collections while “\(path)” has some: end the workers, "
                        + "move its files there and remove it, or correct “collections.directory”")
            }
        }
        // Another process may have made the same link.
        guard symlink(target, path) == 0 || errno == EEXIST && Self.target(of: path) == target else {
            throw SystemError("make the link", path)
        }
    }

    private static func target(of link: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &buffer, buffer.count)
        guard count >= 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    package func exists(_ name: String) -> Bool { access(file(name), F_OK) == 0 && !isEmpty(name) }

    /// Whether a file has no byte, and no WAL from which SQLite would make some.
    private func isEmpty(_ name: String) -> Bool {
        var status = stat()
        guard stat(file(name), &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 else {
            return false
        }
        return stat("\(file(name))-wal", &status) != 0 || status.st_size == 0
    }
}

extension CollectionDirectory {
    /// The directory, and the files in it, that belong to another user, that others can read, or that the
    /// group can write: a sentence each.
    package func permissionProblems() throws -> [String] {
        var status = stat()
        guard stat(path, &status) == 0 else { return [] }
        var problems: [String] = []
        if let problem = Self.problem(status, permitted: 0o750) {
            problems.append("\(path) \(problem): chmod 700 corrects it, or 750 for readers of its group")
        }
        let mode = fileMode
        for name in try names() {
            for path in files(of: name) where stat(path, &status) == 0 {
                guard let problem = Self.problem(status, permitted: mode) else { continue }
                problems.append("\(path) \(problem): chmod \(String(mode, radix: 8)) corrects it")
            }
        }
        return problems
    }

    private static func problem(_ status: stat, permitted: mode_t) -> String? {
        if status.st_uid != geteuid() { return "belongs to user \(status.st_uid), not to \(geteuid())" }
        let mode = status.st_mode & 0o777
        return mode & 0o077 & ~permitted == 0 ? nil : "has mode \(String(mode, radix: 8)), open to other users"
    }
}

/// The lock of a collection: its holder is the only one that writes. It ends with its process.
///
/// A lock counts only while its name leads to the locked file: a file that was removed and made anew can be
/// locked twice.
struct CollectionLock: Sendable {
    private let lock: FileLock

    /// - Returns: nil where another execution or process writes to the collection.
    static func attempt(_ path: String) throws(SystemError) -> CollectionLock? {
        for _ in 0..<16 {
            guard let lock = try FileLock.attempt(path) else { return nil }
            if lock.isNamed(path) { return CollectionLock(lock: lock) }
        }
        return nil
    }
}
