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

/// The type of the file system of an open file (statfs(2)), and which of its numbers are reliable.
package struct FileSystemType: Sendable {
    private let magic: Int

    /// - Parameter descriptor: the open file.
    package init(of descriptor: CInt) { magic = clinux_file_system_type(descriptor) }

    /// - Parameter magic: as in statfs(2).
    init(magic: Int) { self.magic = magic }

    /// Whether a file keeps its inode number as long as it exists. Local file systems that store the number
    /// do; FUSE, NFS, SMB and FAT may assign new numbers at each mount.
    package var hasStableInodes: Bool { Self.stableInodeTypes.contains(magic) }

    /// Whether the content is generated by each read, so that the size in stat(2) is meaningless: procfs,
    /// sysfs and others.
    package var generatesContent: Bool { Self.generatedContentTypes.contains(magic) }

    /// The name of a file system that other machines may share. Its locks and its shared memory may not reach them, so an
    /// SQLite database in WAL mode is not safe there (sqlite.org/wal.html). Nil for any other.
    package var sharedName: String? { Self.sharedNames[magic] }

    /// Whether it is FUSE, as which the kernel also shows virtiofs.
    package var isFUSE: Bool { magic == Self.fuse }

    private static let fuse = 0x6573_5546
    private static let sharedNames: [Int: String] = [
        0x6969: "nfs",
        0x517B: "smb",
        0xFE53_4D42: "cifs",
        0xFF53_4D42: "cifs",
        0x0102_1997: "9p",
        0x00C3_6400: "ceph",
        0x5346_414F: "afs",
        0x0BD0_0BD0: "lustre",
        0x0116_1970: "gfs2",
        0x7461_636F: "ocfs2",
    ]

    private static let stableInodeTypes: Set<Int> = [
        0xEF53,  // ext2, ext3, ext4
        0x5846_5342,  // XFS
        0x9123_683E,  // Btrfs
        0x0102_1994,  // tmpfs
        0x8584_58F6,  // ramfs
        0x2FC1_2FC1,  // ZFS
        0xF2F5_2010,  // F2FS
        0xCA45_1A4E,  // bcachefs
        0x794C_7630,  // overlayfs
        0x3153_464A,  // JFS
        0x5265_4973,  // ReiserFS
        0x3434,  // NILFS2
        0x7371_7368,  // SquashFS
        0xE0F5_E1E2,  // EROFS
        0x2405_1905,  // UBIFS
    ]

    private static let generatedContentTypes: Set<Int> = [
        0x9FA0,  // procfs
        0x6265_6572,  // sysfs
        0x6462_6720,  // debugfs
        0x7472_6163,  // tracefs
        0x6270_6673,  // configfs
        0x7363_6673,  // securityfs
        0xF97C_FF8C,  // selinuxfs
        0x0027_E0EB,  // cgroup
        0x6367_7270,  // cgroup2
        0x6165_676C,  // pstore
        0xCAFE_4A11,  // bpf
    ]
}
