internal import CLinux
internal import Commands
internal import Crypto
internal import Glibc
internal import Host
package import Operations
internal import Transfers

/// The regular files below a folder, in the order of the bytes of their names.
///
/// Hidden files are listed. Symbolic links are not followed, below the folder: they, devices, FIFOs and sockets are
/// listed apart. Each folder is opened from the one above it, so that a folder that is replaced by a link meanwhile
/// leads nowhere else.
package struct FolderListing: Sendable {
    package struct File: Sendable, Equatable {
        /// The path below the folder, with a slash between two names.
        package let path: String
        /// Bytes.
        package let size: Int64
        /// Of the modification, in nanoseconds since 1970.
        package let modified: Int64
        private let inode: UInt64
        private let device: UInt64

        fileprivate init(_ path: String, _ status: stat) {
            self.path = path
            let identity = SourceIdentity(status, hasStableInode: false)
            (size, modified) = (identity.size, identity.modified)
            (inode, device) = (UInt64(status.st_ino), UInt64(status.st_dev))
        }

        /// The unique key of the file among those of one folder. Another file, and this one after a change, have others.
        package func uniqueKey(_ key: String) -> String {
            let facts = "\(path.utf8.count):\(path)\(size),\(modified)"
            return "\(key)/\(Hexadecimal.text(SHA256.hash(data: Array(facts.utf8)).prefix(16)))"
        }

        /// The reason why the file is not the one that was listed; nil where it is still the same. Blocks.
        /// - Parameter path: the whole path.
        package func change(at path: String) -> Omission.Reason? {
            var status = stat()
            guard lstat(path, &status) == 0 else { return errno == ENOENT || errno == ENOTDIR ? .vanished : nil }
            return UInt64(status.st_ino) == inode && UInt64(status.st_dev) == device ? nil : .replaced
        }
    }

    /// An entry that is not sent.
    package struct Omission: Sendable, Equatable {
        package enum Reason: String, Sendable {
            case symbolicLink = "a symbolic link, which is not followed"
            case special = "not a regular file"
            case vanished = "gone since the folder was read"
            case replaced = "replaced since the folder was read"
        }

        /// The path below the folder, quoted where it is not UTF-8.
        package let path: String
        package let reason: Reason

        package init(_ path: String, _ reason: Reason) {
            self.path = path
            self.reason = reason
        }
    }

    package private(set) var files: [File] = []
    package private(set) var omissions: [Omission] = []

    /// Lists a folder. A symbolic link that is the folder itself is followed. Blocks.
    /// - Throws: ``PayloadError`` of the kind `source` for a folder that cannot be read, and for a file that is taken and
    ///   has a name that is not valid UTF-8.
    package init(of folder: String, _ filter: PathFilter) throws(PayloadError) {
        guard let start = try Self.open(folder, at: AT_FDCWD, followsLink: true, shown: folder) else {
            throw PayloadError(.source, "\(folder) does not exist")
        }
        var open = [Level(descriptor: start, path: [])]
        defer { for level in open { close(level.descriptor) } }
        open[0].names = try Self.names(start, shown: folder)
        while !open.isEmpty {
            let top = open.count - 1
            guard let name = open[top].names.popLast() else {
                close(open.removeLast().descriptor)
                continue
            }
            let descriptor = open[top].descriptor
            let path = open[top].path.isEmpty ? name : open[top].path + [.slash] + name
            var status = stat()
            let found = name.withZero { fstatat(descriptor, $0, &status, AT_SYMLINK_NOFOLLOW) } == 0
            guard found else {
                guard errno == ENOENT else { throw Self.unreadable(Self.shown(folder, path), SystemError()) }
                if filter.takes(path) { omissions.append(Omission(Self.text(path), .vanished)) }
                continue
            }
            switch status.st_mode & S_IFMT {
            case S_IFDIR:
                if let below = try enter(name, path, in: descriptor, folder, filter) { open.append(below) }
            case S_IFREG where filter.takes(path):
                guard let text = String(validating: path, as: UTF8.self) else {
                    throw PayloadError(
                        .source,
                        "the name of \(Self.shown(folder, path)) is not valid UTF-8; rename the file, or exclude it")
                }
                files.append(File(text, status))
            case S_IFREG: break
            default:
                guard filter.takes(path) else { break }
                omissions.append(
                    Omission(Self.text(path), status.st_mode & S_IFMT == S_IFLNK ? .symbolicLink : .special))
            }
        }
    }

    /// A folder that is being listed.
    private struct Level {
        let descriptor: CInt
        let path: [UInt8]
        /// The names that are left, the next one last.
        var names: [[UInt8]] = []
    }

    /// - Returns: nil for a folder that is not read.
    private mutating func enter(
        _ name: [UInt8], _ path: [UInt8], in parent: CInt, _ folder: String, _ filter: PathFilter
    ) throws(PayloadError) -> Level? {
        guard !filter.skips(folder: path) else { return nil }
        let shown = Self.shown(folder, path)
        guard let descriptor = try Self.open(name, at: parent, followsLink: false, shown: shown) else {
            omissions.append(Omission(Self.text(path), .vanished))
            return nil
        }
        do throws(PayloadError) {
            return Level(descriptor: descriptor, path: path, names: try Self.names(descriptor, shown: shown))
        } catch {
            close(descriptor)
            throw error
        }
    }

    // MARK: The file system

    /// - Returns: nil for a folder that is gone, or a link now.
    private static func open(
        _ name: String, at directory: CInt, followsLink: Bool, shown: String
    ) throws(PayloadError) -> CInt? {
        try open(Array(name.utf8), at: directory, followsLink: followsLink, shown: shown)
    }

    private static func open(
        _ name: [UInt8], at directory: CInt, followsLink: Bool, shown: String
    ) throws(PayloadError) -> CInt? {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (followsLink ? 0 : O_NOFOLLOW)
        let descriptor = name.withZero { clinux_openat(directory, $0, flags) }
        guard descriptor < 0 else { return descriptor }
        if errno == ENOENT || errno == ENOTDIR || errno == ELOOP { return nil }
        throw unreadable(shown, SystemError())
    }

    /// The names in an open folder, the last one first.
    private static func names(_ descriptor: CInt, shown: String) throws(PayloadError) -> [[UInt8]] {
        // closedir(3) closes its descriptor, and this one is needed for the entries.
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0, let listing = fdopendir(copy) else {
            let error = SystemError()
            if copy >= 0 { close(copy) }
            throw unreadable(shown, error)
        }
        defer { closedir(listing) }
        var names: [[UInt8]] = []
        while true {
            errno = 0
            guard let entry = readdir(listing) else {
                guard errno == 0 else { throw unreadable(shown, SystemError()) }
                return names.sorted { $1.lexicographicallyPrecedes($0) }
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name != Array(".".utf8), name != Array("..".utf8) { names.append(name) }
        }
    }

    private static func unreadable(_ shown: String, _ error: SystemError) -> PayloadError {
        let isPassing = [EMFILE, ENFILE, ENOMEM, EIO].contains(error.code)
        return PayloadError(
            isPassing ? .passing : .source, "the folder \(shown) cannot be read: \(error); exclude it, or correct that")
    }

    private static func text(_ path: [UInt8]) -> String {
        String(validating: path, as: UTF8.self) ?? String(shellQuoting: path)
    }

    private static func shown(_ folder: String, _ path: [UInt8]) -> String {
        let whole = Array(folder.utf8) + (folder.endsWithBytes(of: "/") ? [] : [.slash]) + path
        return text(whole)
    }
}

extension [UInt8] {
    /// The bytes as a string of C. The kernel returns names without zero bytes.
    fileprivate func withZero<Value>(_ body: (UnsafePointer<CChar>) -> Value) -> Value {
        (self + [0]).withUnsafeBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) { body($0.baseAddress!) }
        }
    }
}
