internal import Glibc

/// The exit codes of a program that differ from sysexits.h.
struct ExecExitCodes: Sendable, Equatable {
    /// In addition to 0.
    var success: Set<Int32> = []
    /// Charged, and tried again after the backoff.
    var retry: Set<Int32> = []
    /// No retry can succeed.
    var permanent: Set<Int32> = []

    /// 64 to 78 of sysexits.h but those that may pass (69, 71, 74, 75), and the codes of a shell for a
    /// program that is not executable or not found.
    private static let final: Set<Int32> = [64, 65, 66, 67, 68, 70, 72, 73, 76, 77, 78, 126, 127]

    enum Meaning: Sendable, Equatable {
        case success
        case retry
        case permanent
    }

    /// The meaning of a code: by the lists, otherwise by sysexits.h. Other codes are charged.
    func meaning(of code: Int32) -> Meaning {
        if code == 0 || success.contains(code) { return .success }
        if retry.contains(code) { return .retry }
        return permanent.contains(code) || Self.final.contains(code) ? .permanent : .retry
    }

    /// The name that sysexits.h or a shell gives the code, in words; nil for any other code.
    static func name(of code: Int32) -> String? {
        switch code {
        case 64: "usage"
        case 65: "invalid data"
        case 66: "no input"
        case 67: "unknown user"
        case 68: "unknown host"
        case 69: "unavailable"
        case 70: "internal error"
        case 71: "system error"
        case 72: "missing system file"
        case 73: "cannot create the output"
        case 74: "input or output error"
        case 75: "temporary failure"
        case 76: "protocol error"
        case 77: "permission denied"
        case 78: "configuration"
        case 126: "not executable, from a shell"
        case 127: "not found, from a shell"
        case 129...192: "a shell's report of \(SignalName.of(code - 128))"
        default: nil
        }
    }
}

enum SignalName {
    /// `SIGSEGV`; “signal 40” for one without a name.
    static func of(_ number: Int32) -> String {
        switch number {
        case SIGHUP: "SIGHUP"
        case SIGINT: "SIGINT"
        case SIGQUIT: "SIGQUIT"
        case SIGILL: "SIGILL"
        case SIGTRAP: "SIGTRAP"
        case SIGABRT: "SIGABRT"
        case SIGBUS: "SIGBUS"
        case SIGFPE: "SIGFPE"
        case SIGKILL: "SIGKILL"
        case SIGUSR1: "SIGUSR1"
        case SIGSEGV: "SIGSEGV"
        case SIGUSR2: "SIGUSR2"
        case SIGPIPE: "SIGPIPE"
        case SIGALRM: "SIGALRM"
        case SIGTERM: "SIGTERM"
        case SIGXCPU: "SIGXCPU"
        case SIGXFSZ: "SIGXFSZ"
        case SIGSYS: "SIGSYS"
        default: "signal \(number)"
        }
    }
}
