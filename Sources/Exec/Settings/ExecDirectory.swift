internal import CLinux
internal import Commands
internal import Glibc
internal import Host
internal import Transfers

/// The working directory of a run, opened at its start, so that a later change of the path has no effect.
enum ExecDirectory {
    /// Opens the directory of a payload in that of its program. Blocks.
    /// - Parameters:
    ///   - path: absolute; ``ExecPayload/check(for:)`` has found it in `base`.
    ///   - base: the directory of the program.
    /// - Throws: a final ``CommandFailure`` where a symbolic link stands on the way from `base`, and where
    ///   there is no such directory.
    static func open(_ path: String, in base: String) throws(CommandFailure) -> OpenFile {
        let parent: OpenFile
        do throws(SystemError) { parent = try OpenFile(base, OpenFile.pathOnly | O_DIRECTORY) } catch {
            throw failure(error, base)
        }
        let rest = path.utf8.dropFirst(base.utf8.count).drop { $0 == .slash }
        guard !rest.isEmpty else { return parent }
        let descriptor = clinux_open_beneath(
            parent.descriptor, String(Substring(rest)), OpenFile.pathOnly | O_DIRECTORY)
        guard descriptor >= 0 else { throw failure(SystemError("open", path), path) }
        return OpenFile(owning: descriptor)
    }

    private static func failure(_ error: SystemError, _ path: String) -> CommandFailure {
        switch error.code {
        case ELOOP, EXDEV:
            CommandFailure(
                .final, reason: "the directory \(path) is not used: there is a symbolic link in it; name its target")
        case ENOENT, ENOTDIR, EACCES, ENAMETOOLONG:
            CommandFailure(.final, reason: "the directory \(path) is not used: \(error)")
        default: CommandFailure(.command, reason: "the directory \(path) is not used: \(error)")
        }
    }
}
