package import Commands

/// The paths in the data directory that a worker needs for programs. All are absolute, because a program has
/// another working directory.
package struct ExecDirectories: Sendable {
    /// The directories for temporary files are made here.
    let temporary: String
    private let lock: @Sendable (CommandID) -> String

    /// - Parameters:
    ///   - temporary: made at the first use.
    ///   - lock: the file whose lock a guardian holds, by its command.
    package init(temporary: String, lock: @escaping @Sendable (CommandID) -> String) {
        self.temporary = temporary
        self.lock = lock
    }

    func lock(of command: CommandID) -> String { lock(command) }

    /// The directory of a run as the user of this process.
    func path(_ name: String) -> String { "\(temporary)/\(name)" }

    // MARK: Other users

    /// Another user may not enter the data directory, so the directories of its programs are here.
    static let shared = "/tmp"

    /// The start of their names. It differs between data directories, whose workers cannot see the locks of
    /// each other: FNV-1a of the path.
    var sharedPrefix: String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in temporary.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return "sluice-exec-\(String(hash, radix: 16))-"
    }

    /// The directory of a run as another user.
    func sharedPath(_ name: String) -> String { "\(Self.shared)/\(sharedPrefix)\(name)" }
}
