/// The exit code of the process. The numbers are those of sysexits.h where it has one.
enum ExitCode: Int32 {
    case done = 0
    /// A command that it waited for failed, or a change was refused; doctor found something; a figure of
    /// bench missed its goal.
    case failed = 1
    case usage = 64
    case data = 65
    case input = 66
    case unavailable = 69
    case internalError = 70
    case cannotCreate = 73
    case cannotWrite = 74
    case tryAgain = 75
    case permission = 77
    case configuration = 78
    /// 128 plus the number of the signal, as in shells.
    case hungUp = 129
    case interrupted = 130
    case terminated = 143
}
