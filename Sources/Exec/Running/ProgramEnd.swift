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
