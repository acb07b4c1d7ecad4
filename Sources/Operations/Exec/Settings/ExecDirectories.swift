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

}
