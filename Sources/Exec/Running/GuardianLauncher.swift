internal import CLinux
internal import Glibc
internal import Synchronization
internal import Transfers

/// The process that forks the guardians of this process (Guardian.h). It is made at the first use, and again
/// after its death. It ends with this object; its guardians do not.
final class GuardianLauncher: Sendable {
    private struct Launcher {
        var socket: OpenFile
        var pid: pid_t
    }

    static let shared = GuardianLauncher()

    private let launcher = Mutex<Launcher?>(nil)

    deinit {
        guard let last = launcher.withLock({ $0.take() }) else { return }
        end(last)
    }

    /// Hands a request over. Blocks, with the signals of the thread blocked.
    /// - Returns: the guardian, and whether it has the whole request. Without it no program starts.
    func start(_ request: clinux_guardian_request) throws(ProgramStartFailure) -> (clinux_guardian, isWhole: Bool) {
        var code: CInt = 0
        for _ in 0..<2 {
            let socket = try current()
            var (request, guardian) = (request, clinux_guardian())
            let result = clinux_guardian_start(socket.descriptor, &request, &guardian)
            if result >= 0 { return (guardian, result == 0) }
            code = errno
            guard code == EPIPE || code == ECONNRESET else { break }
            discard(socket)
        }
        throw ProgramStartFailure(.prepare, code)
    }

    /// The process id; nil before the first use.
    var pid: pid_t? { launcher.withLock { $0?.pid } }

    private func current() throws(ProgramStartFailure) -> OpenFile {
        try launcher.withLock { launcher throws(ProgramStartFailure) in
            if let launcher { return launcher.socket }
            var pid: pid_t = 0
            let socket = clinux_launcher_start(&pid)
            guard socket >= 0 else { throw ProgramStartFailure(.prepare, errno) }
            let made = Launcher(socket: OpenFile(owning: socket), pid: pid)
            launcher = made
            return made.socket
        }
    }

    /// Forgets a launcher that has died.
    private func discard(_ socket: OpenFile) {
        let dead = launcher.withLock { launcher -> Launcher? in
            guard launcher?.socket === socket else { return nil }
            defer { launcher = nil }
            return launcher
        }
        if let dead { end(dead) }
    }

    /// Ends the process by the end of file of its socket, and reaps it.
    private func end(_ launcher: consuming Launcher) {
        let pid = launcher.pid
        shutdown(launcher.socket.descriptor, CInt(SHUT_RDWR))
        var status: CInt = 0
        waitpid(pid, &status, 0)
    }
}
