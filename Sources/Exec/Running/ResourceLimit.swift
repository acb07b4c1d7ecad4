internal import Glibc

/// A resource limit of a program; it never exceeds the worker's own. setrlimit(2).
struct ResourceLimit: Sendable, Equatable {
    enum Resource: Sendable, Equatable {
        /// Seconds of processor time; SIGXCPU, and one second later SIGKILL.
        case processorTime
        /// Bytes of a file that the program writes; SIGXFSZ.
        case fileSize
        /// Bytes of address space; allocations of the program fail.
        case addressSpace
        /// Processes and threads of the program's user.
        case processes
        /// Descriptors.
        case openFiles
        /// Bytes of a core file.
        case coreFile

        var number: Int32 {
            switch self {
            case .processorTime: Int32(RLIMIT_CPU.rawValue)
            case .fileSize: Int32(RLIMIT_FSIZE.rawValue)
            case .addressSpace: Int32(RLIMIT_AS.rawValue)
            // Not in Glibc's module: 6 on every architecture but mips and sparc.
            case .processes: 6
            case .openFiles: Int32(RLIMIT_NOFILE.rawValue)
            case .coreFile: Int32(RLIMIT_CORE.rawValue)
            }
        }
    }

    var resource: Resource
    var soft: UInt64
    /// Nil: as the worker has it.
    var hard: UInt64?

    init(_ resource: Resource, soft: UInt64, hard: UInt64? = nil) {
        self.resource = resource
        self.soft = soft
        self.hard = hard
    }
}
