internal import Transfers

/// A program to start, and the rules for its end.
struct GuardedProgram: Sendable {
    enum Input: Sendable {
        /// `/dev/null`.
        case none
        /// Bytes that are written as the program reads them. A program need not read them all.
        case bytes([UInt8])
        /// A file that the program reads itself.
        case file(OpenFile)
    }

    enum Output: Sendable {
        /// Passed on as events.
        case events
        /// A file that the program writes itself.
        case file(OpenFile)
    }

    /// An absolute path, not of a symbolic link.
    var path: String
    /// The device and inode of the file that was checked; another file at the path is not started.
    var device: UInt64
    var inode: UInt64
    /// The whole argv, with the name of the program as its first element.
    var arguments: [String]
    /// `NAME=value`.
    var environment: [String]
    /// The working directory, open.
    var directory: OpenFile
    var input = Input.none
    var output = Output.events
    var error = Output.events
    /// Whether descriptor 3 of the program is the report channel.
    var hasReportChannel = true
    var limits: [ResourceLimit] = []
    /// Nil: the worker's own.
    var user: ProgramUser?
    /// Whether descendants that have left the session of the program survive it.
    var leavesDaemons = false

    /// The file whose lock is held while the program or a descendant of it may run.
    var lockPath: String
    /// The time to wait for an earlier run that is still ending.
    var lockTimeout: Duration = .seconds(30)
    /// From TERM to KILL after a time-out, the death of the worker, and for descendants that outlive the
    /// program.
    var grace: Duration = .seconds(10)
    /// From the start of the program; nil: none.
    var timeout: Duration?
    /// The maximum time without a byte of output or report; nil: none.
    var idleTimeout: Duration?
}
