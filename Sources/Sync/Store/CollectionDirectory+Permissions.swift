internal import Glibc

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
