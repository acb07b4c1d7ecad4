internal import Commands
internal import Glibc
internal import Host

/// Decides the result of an execution from the end of its program. Pure.
///
/// | end | fault |
/// |---|---|
/// | 0, the list `success` | success |
/// | 69, 71, 74, 75, the list `retry`, other codes | charged; `retryAfter` of the reports is a minimum |
/// | 64–68, 70, 72, 73, 76–78, 126, 127, the list `permanent` | final |
/// | a signal that the worker did not send | charged |
/// | a time-out, an idle time-out | charged |
/// | a cancellation, a release, a drain | stopped: the caller decides |
/// | not started | final where no retry can succeed, otherwise charged |
///
/// A program that has ended is a definite answer, so only the loss of the guardian is ambiguous.
enum ExecVerdict: Sendable, Equatable {
    case success
    case failure(CommandFailure)
    /// Ended by ``GuardedProcess/cancel(grace:)``.
    case stopped

    /// - Parameters:
    ///   - program: the settings of the program.
    ///   - lastLine: of its error output (``OutputTail/lastLine(of:)``).
    ///   - retryAfter: as the program has reported it.
    init(_ end: ProgramEnd, of program: ExecProgram, lastLine: String?, retryAfter: Duration?) {
        let name = "the program “\(program.name)”"
        let line = lastLine.map { ": \($0)" } ?? ""
        switch (end.stop, end.outcome) {
        case (_, .notStarted(let failure)) where failure.step != .cancelled:
            self = .failure(failure.failure(of: program))
        case (_, .notStarted): self = .stopped
        // Also after a cancellation: a guardian may die before it reports the start.
        case (_, .guardianLost):
            self = .failure(
                CommandFailure(
                    .command,
                    reason: "the guardian of \(name) was killed, so its end is not known; see whether the system "
                        + "had no memory left",
                    ambiguous: true))
        case (.cancelled, _): self = .stopped
        case (.timedOut, _):
            self = .failure(
                CommandFailure(
                    .command, reason: "\(name) timed out\(line); set a longer timeout in the payload",
                    retryAfter: retryAfter))
        case (.idle, _):
            self = .failure(
                CommandFailure(
                    .command, reason: "\(name) timed out: it wrote nothing for its idle timeout\(line)",
                    retryAfter: retryAfter))
        case (nil, .signalled(let signal)):
            let reason = "\(name) was ended by \(Self.meaning(of: signal))\(line)"
            self = .failure(CommandFailure(.command, reason: reason, retryAfter: retryAfter))
        case (nil, .exited(let code)):
            self = Self.verdict(code, of: program, "\(name) exited with code \(Self.shown(code))\(line)", retryAfter)
        }
    }

    private static func verdict(
        _ code: Int32, of program: ExecProgram, _ reason: String, _ retryAfter: Duration?
    ) -> ExecVerdict {
        switch program.exitCodes.meaning(of: code) {
        case .success: .success
        case .retry: .failure(CommandFailure(.command, reason: reason, retryAfter: retryAfter))
        case .permanent: .failure(CommandFailure(.final, reason: reason))
        }
    }

    private static func shown(_ code: Int32) -> String {
        ExecExitCodes.name(of: code).map { "\(code) (\($0))" } ?? "\(code)"
    }

    private static func meaning(of signal: Int32) -> String {
        switch signal {
        case SIGXCPU: "SIGXCPU: it used up its limit of processor time; raise limits.cpu in its settings"
        case SIGXFSZ: "SIGXFSZ: it wrote a file beyond its limit; raise limits.fileSize in its settings"
        case SIGKILL: "SIGKILL, which the worker did not send; see whether the system had no memory left"
        default: SignalName.of(signal)
        }
    }
}

extension ProgramStartFailure {
    /// The failure of the command. No part of the program has run, so it is not ambiguous.
    func failure(of program: ExecProgram) -> CommandFailure {
        CommandFailure(
            isFinal ? .final : .command, reason: "cannot start the program “\(program.name)”: \(reason(program))")
    }

    /// Whether no retry can succeed.
    private var isFinal: Bool {
        switch step {
        case .execute:
            [ENOENT, EACCES, EPERM, E2BIG, ENOEXEC, ENOTDIR, ELOOP, EISDIR, EINVAL, ENAMETOOLONG, ELIBBAD, EFAULT]
                .contains(code)
        case .directory: [ENOENT, EACCES, ENOTDIR].contains(code)
        case .groups, .group, .user: [EPERM, EINVAL].contains(code)
        case .limits, .privileges: [EPERM, EINVAL].contains(code)
        case .prepare: code == EINVAL
        case .program, .children: true
        case .lock, .lockTimeout, .fork, .session, .descriptors, .killed, .cancelled: false
        }
    }

    private func reason(_ program: ExecProgram) -> String {
        let error = SystemError(code)
        switch step {
        case .execute: return executeReason(program)
        case .program: return "\(program.path) is not the file that was checked; it was replaced meanwhile"
        case .lockTimeout: return "an earlier run of the command is still ending"
        case .lock: return "its lock cannot be taken: \(error.reason)"
        case .directory: return "its directory cannot be entered: \(error.reason)"
        case .groups, .group, .user:
            return "it cannot become the user of its settings: \(error.words); "
                + "give the worker \(ProgramUser.capabilities)"
        case .limits: return "its limits cannot be set: \(error.words)"
        case .killed: return "its process was ended by \(SignalName.of(code)) before the program began"
        case .children: return "the kernel does not list the children of a process: \(error.words); mount /proc"
        case .prepare, .fork, .session, .descriptors, .privileges, .cancelled: return error.reason
        }
    }

    private func executeReason(_ program: ExecProgram) -> String {
        switch code {
        case ENOENT:
            "\(program.path), or the interpreter that its first line names after #!, does not exist; install it"
        case EACCES:
            "\(program.path), or its interpreter, may not be executed by this user; set its permissions (chmod a+rx), "
                + "and see whether its file system is mounted with noexec"
        case E2BIG: "its arguments and environment are too large for the system; give them as “stdin”"
        case ENOEXEC:
            "\(program.path) is not a program for this machine; a script needs a first line such as #!/bin/sh"
        case ETXTBSY: "\(program.path) is being written"
        default: "\(program.path): \(SystemError(code).reason)"
        }
    }
}
