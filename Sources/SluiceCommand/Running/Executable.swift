internal import Glibc

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
        umask(SluiceTool.inheritedUmask)
        Notify.restore()
        execv(installed, ProgramArguments.pointers)
        return "\(installed) cannot be started: \(String(cString: strerror(errno)))"
    }
}
