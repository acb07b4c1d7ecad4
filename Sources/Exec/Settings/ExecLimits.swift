/// The resource limits of a program in `sluice.yaml`; nil: the worker's own.
struct ExecLimits: Sendable, Equatable {
    /// Seconds of processor time. Then SIGXCPU, and after 5 more seconds SIGKILL.
    var processorSeconds: Int?
    /// Bytes of each file that the program writes. Then SIGXFSZ.
    var fileSize: Int64?
    /// Bytes of address space of each process. The program sees an error of its own.
    var addressSpace: Int64?
    /// Processes and threads of the user, so it needs a user of its own.
    var processes: Int?
    /// The soft limit; select(2) works up to 1024, and workers raise their own.
    var openFiles = 1024

    var resourceLimits: [ResourceLimit] {
        var limits = [ResourceLimit(.coreFile, soft: 0), ResourceLimit(.openFiles, soft: UInt64(clamping: openFiles))]
        if let processorSeconds {
            let seconds = UInt64(clamping: processorSeconds)
            limits.append(ResourceLimit(.processorTime, soft: seconds, hard: seconds + 5))
        }
        func add(_ resource: ResourceLimit.Resource, _ value: Int64?) {
            guard let value else { return }
            limits.append(ResourceLimit(resource, soft: UInt64(clamping: value), hard: UInt64(clamping: value)))
        }
        add(.fileSize, fileSize)
        add(.addressSpace, addressSpace)
        add(.processes, processes.map(Int64.init))
        return limits
    }
}
