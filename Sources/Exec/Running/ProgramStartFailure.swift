internal import CLinux

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
