internal import CLinux

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Whether the file system of a directory has what several processes on one SQLite database in WAL mode need: locks of
/// files and of bytes, and shared memory (sqlite.org/wal.html).
package struct FileSystemCheck: Sendable, Equatable {
    /// Its name as the kernel has it: “fuse.sshfs”, “nfs4”.
    package var name: String
    /// The lock or memory that it lacks, as it follows “has no”; nil where it has all.
    package var missing: String?
    /// Other machines may use it too, whose locks this one may not see.
    package var isShared: Bool

    package init(name: String, missing: String? = nil, isShared: Bool = false) {
        self.name = name
        self.missing = missing
        self.isShared = isShared
    }

    /// Looks at the file system of a directory, and tries it with two open files in it unless it is a known local one.
    /// - Throws: where no file can be made there.
    package init(of directory: String) throws(SystemError) {
        let descriptor = try openDirectory(directory)
        defer { close(descriptor) }
        let type = FileSystemType(of: descriptor)
        guard !type.hasStableInodes else {
            self.init(name: "local")
            return
        }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw SystemError("stat", directory) }
        let mounted = Self.mountedType(device: UInt64(facts.st_dev), TextFile.read("/proc/self/mountinfo") ?? "")
        let name = mounted ?? type.sharedName ?? (type.isFUSE ? "fuse" : "unknown")
        self.init(
            name: name, missing: try Self.missing(in: directory),
            isShared: type.sharedName != nil || name == "virtiofs")
    }

    /// The danger of a file system that other machines may share; nil for any other.
    /// - Parameter path: of the data directory.
    package func warning(_ path: String) -> String? {
        guard isShared else { return nil }
        return
            "\(path) is on a file system of the type \(name), which other machines may use at the same time; their processes would "
            + "damage the store, so run Sluice on one machine only, or choose a directory on a local disk"
    }

    /// The type of the file system on a device, of the text of /proc/self/mountinfo (proc(5)).
    static func mountedType(device: UInt64, _ text: String) -> String? {
        // The numbers of makedev(3).
        let major = device >> 8 & 0xFFF | device >> 32 & 0xFFFF_F000
        let minor = device & 0xFF | device >> 12 & 0xFFFF_FF00
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 6, fields[2] == "\(major):\(minor)",
                let end = fields.dropFirst(6).firstIndex(of: "-"), end + 1 < fields.count
            else { continue }
            return String(fields[end + 1])
        }
        return nil
    }

    // MARK: Trials

    private static func missing(in directory: String) throws(SystemError) -> String? {
        let path = "\(directory)/file-system-check.\(getpid()).\(UInt32.random(in: 0...UInt32.max))"
        let first = try openFile(path, O_RDWR | O_CREAT | O_EXCL)
        defer {
            close(first)
            unlink(path)
        }
        let second = try openFile(path, O_RDWR)
        defer { close(second) }
        if !excludes({ flock($0, LOCK_EX | LOCK_NB) == 0 }, first, second) { return "locks of files" }
        if !excludes({ clinux_lock_bytes($0, 0, 1, 0) == 0 }, first, second) { return "locks of bytes" }
        return sharesMemory(first, second) ? nil : "shared memory"
    }

    /// Whether a lock of one open file keeps another from getting it.
    private static func excludes(_ lock: (CInt) -> Bool, _ first: CInt, _ second: CInt) -> Bool {
        lock(first) && !lock(second)
    }

    /// Whether a byte that one mapping of a file writes is seen in another.
    private static func sharesMemory(_ first: CInt, _ second: CInt) -> Bool {
        let size = 4096
        guard ftruncate(first, off_t(size)) == 0,
            let one = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, first, 0), one != MAP_FAILED
        else { return false }
        defer { munmap(one, size) }
        guard let other = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, second, 0), other != MAP_FAILED else {
            return false
        }
        defer { munmap(other, size) }
        one.storeBytes(of: 0x5A, as: UInt8.self)
        return other.load(as: UInt8.self) == 0x5A
    }
}
