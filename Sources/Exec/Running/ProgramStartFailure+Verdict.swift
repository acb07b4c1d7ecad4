internal import Commands
internal import Glibc
internal import Host

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
