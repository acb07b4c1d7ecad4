internal import CLinux
internal import Commands
internal import Glibc
internal import Logging
internal import Supervision
internal import Synchronization

/// The replacement of `sluice up` by the program that is installed at its path.
final class Reload: Sendable {
    private enum State {
        case none, checking, draining
        /// A person ends the service instead.
        case cancelled
    }

    private let state = Mutex(State.none)
    private let logger: Logger
    private let drain: @Sendable () -> Void

    /// - Parameter drain: ends the children; then the process is replaced.
    init(logger: Logger, drain: @escaping @Sendable () -> Void) {
        self.logger = logger
        self.drain = drain
        _ = Executable.installed
    }

    /// Whether the process is to be replaced, now that its children have ended.
    var isDue: Bool { state.withLock { $0 == .draining } }

    func cancel() { state.withLock { $0 = .cancelled } }

    /// Checks that the installed program runs before anything is ended.
    func begin() {
        guard move(from: .none, to: .checking) else { return }
        Task {
            do {
                let version = try await ProgramVersion.read(of: Executable.installed)
                guard move(from: .checking, to: .draining) else { return }
                logger.notice(
                    "Reloading: each worker drains in its turn, then the installed program starts.",
                    metadata: [
                        "from": "\(SluiceVersion.current)", "to": "\(version)", "path": "\(Executable.installed)",
                    ])
                Notify.reloading()
                drain()
            } catch {
                logger.error("Not reloaded, because \(error); install a program that runs, and try again.")
                _ = move(from: .checking, to: .none)
            }
        }
    }

    private func move(from before: State, to after: State) -> Bool {
        state.withLock { state in
            guard state == before else { return false }
            state = after
            return true
        }
    }
}

/// The path of this program.
enum Executable {
    /// The path from which this process was started. Another program may have been installed there since. Read it once
    /// before that, because the kernel then says that it was deleted.
    static let installed: String = {
        var buffer = [CChar](repeating: 0, count: 4097)
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let bytes = buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }
        return String(validating: bytes, as: UTF8.self) ?? "/proc/self/exe"
    }()

    /// The path of this program, for child processes. A program that was replaced on disk is still reachable by
    /// /proc/self/exe.
    static let path = access(installed, X_OK) == 0 ? installed : "/proc/self/exe"

    /// Replaces this process by the installed program, with the same arguments and the same process id.
    /// - Returns: only where that fails: the reason.
    static func replaceProcess() -> String {
        // Ignored signals and the mask of this thread would be inherited.
        for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        umask(CommandLineRun.inheritedUmask)
        Notify.restore()
        execv(installed, ProgramArguments.pointers)
        return "\(installed) cannot be started: \(String(cString: strerror(errno)))"
    }
}
