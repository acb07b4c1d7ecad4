package import Commands
internal import Operations
package import Settings

/// The operation `exec` in `sluice.yaml`: off unless `exec.enabled` is true, and able to run the programs
/// that are listed there, and no others.
package struct ExecConfiguration: Sendable {
    /// `exec.enabled`
    package private(set) var isEnabled = false
    private(set) var programs: [ExecProgram] = []
    /// The directories of a worker; nil where this process executes nothing.
    package var directories: ExecDirectories?

    package init() {}

    init(_ programs: [ExecProgram], _ directories: ExecDirectories? = nil) {
        isEnabled = true
        self.programs = programs
        self.directories = directories
    }

    /// Reads `exec.enabled`, the list `programs` and, for each name in it, the section `program.<name>`
    /// (``ExecProgram``).
    /// - Throws: ``SettingsError`` naming the key.
    package init(reading reader: inout SettingsReader) throws(SettingsError) {
        try reader.read(&isEnabled, ["exec", "enabled"])
        for name in try reader.list(["programs"]) {
            guard !programs.contains(where: { $0.name == name }) else {
                throw SettingsError(key: "programs", problem: "has “\(name)” twice")
            }
            programs.append(try ExecProgram(name, reading: &reader))
        }
    }

    /// The names of the programs, in the order of the file.
    package var names: [String] { programs.map(\.name) }

    /// The settings of the program of a payload.
    func program(of payload: ExecPayload) throws(PayloadError) -> ExecProgram {
        guard let program = programs.first(where: { $0.name == payload.program }) else {
            let known = programs.isEmpty ? "none" : programs.map { "“\($0.name)”" }.joined(separator: ", ")
            throw PayloadError(
                .data,
                "sluice.yaml has no program “\(payload.program.prefix(80))”; there are: \(known). List it in programs, "
                    + "describe it in program.NAME, and restart the workers")
        }
        return program
    }

    /// The programs that would not start now, a sentence each. Blocks.
    /// - Parameter worker: the user that workers run as.
    package func problems(worker: UInt32) -> [String] {
        programs.compactMap { program -> String? in
            do throws(CommandFailure) {
                _ = try CheckedProgram(program.path, user: try program.lookUpUser()?.user, worker: worker)
                return nil
            } catch {
                return "program.\(program.name): \(error.reason)"
            }
        }
    }
}

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
