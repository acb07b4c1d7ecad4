internal import CLinux
internal import Host

/// The end of a guarded program, when nothing of it is left and its lock is free.
struct ProgramEnd: Sendable, Equatable {
    enum Outcome: Sendable, Equatable {
        /// The exit code, 0 to 255.
        case exited(Int32)
        case signalled(Int32)
        case notStarted(ProgramStartFailure)
        /// The guardian was killed, so the end of the program is not known. The kernel has killed the program
        /// with it; other descendants may be left.
        case guardianLost
    }

    /// Why the worker has ended the program.
    enum Stop: Sendable, Equatable {
        /// ``GuardedProcess/cancel(grace:)``
        case cancelled
        case timedOut
        /// No output for the idle time-out.
        case idle
    }

    var outcome: Outcome
    /// Nil where the program ended by itself.
    var stop: Stop?
    /// Whether a process had to be killed, because the grace was over.
    var wasKilled = false
    /// Descendants that were alive when the program had ended; after a stop, when its grace was over. Where
    /// daemons are left, at least this number.
    var survivors = 0
    /// From the start of the program to its end.
    var duration: Duration = .zero
    /// Processor time of the program and all descendants that were reaped.
    var userTime: Duration = .zero
    var systemTime: Duration = .zero
    /// Bytes of the largest of these processes.
    var maxResident: Int64 = 0
    var reports = ReportCounts()
    /// Whether both outputs were read to their end. Otherwise a process that is out of reach still has one
    /// open, and it was closed after 2 s.
    var outputIsWhole = true
}

/// The step at which the start of a program failed.
struct ProgramStartFailure: Error, Sendable, Equatable {
    enum Step: Int32, Sendable {
        /// Pipes, memory, a thread or a process for the guardian.
        case prepare = 1
        /// The kernel does not list the children of a process (/proc is missing, or CONFIG_PROC_CHILDREN).
        case children
        case lock
        /// An earlier run is still ending.
        case lockTimeout
        case fork
        case session
        case descriptors
        case limits
        case groups
        case group
        case user
        case directory
        case privileges
        /// The path names another file than the one that was checked.
        case program
        case execute
        /// The process died before it became the program.
        case killed
        /// The process was stopped before the program started.
        case cancelled
    }

    var step: Step
    /// An error number; of ``Step/killed`` and ``Step/cancelled`` a signal, if any.
    var code: Int32

    init(_ step: Step, _ code: Int32) {
        self.step = step
        self.code = code
    }

    init(_ event: clinux_guardian_event) {
        self.init(Step(rawValue: event.step) ?? .prepare, event.error)
    }
}
