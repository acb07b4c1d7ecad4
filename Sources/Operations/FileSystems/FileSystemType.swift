internal import CLinux

/// The type of the file system that an open file is on (statfs(2)), and what of its numbers can be relied on.
struct FileSystemType: Sendable {
    private let magic: Int

    /// - Parameter descriptor: of an open file.
    init(of descriptor: CInt) { magic = clinux_file_system_type(descriptor) }

    /// Whether a file keeps its inode number for as long as it is there: local file systems that store it. FUSE, NFS, SMB
    /// and FAT may number a file anew at each mount.
    var keepsInodes: Bool { Self.keepers.contains(magic) }

    /// Whether the content is made when it is read, so that the size in stat(2) says nothing: procfs, sysfs and their kin.
    var makesContent: Bool { Self.makers.contains(magic) }

    private static let keepers: Set<Int> = [
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

    private static let makers: Set<Int> = [
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
