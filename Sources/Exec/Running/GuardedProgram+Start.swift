internal import CLinux
internal import Glibc
internal import Host
internal import Transfers

extension GuardedProgram {
    /// Starts the guardian. Blocks.
    /// - Returns: the guardian, and whether it has the whole request. Without it no program starts.
    func start(
        _ pipes: ProgramPipes, by launcher: GuardianLauncher
    ) throws(ProgramStartFailure) -> (clinux_guardian, isWhole: Bool) {
        guard let arguments = CStringTable(arguments), let environment = CStringTable(environment) else {
            throw ProgramStartFailure(.prepare, EINVAL)
        }
        var request = clinux_guardian_request()
        request.lock_timeout = Self.milliseconds(lockTimeout)
        request.grace = Self.milliseconds(grace)
        request.leaves_daemons = leavesDaemons ? 1 : 0
        request.program_device = device
        request.program_inode = inode
        request.arguments = UnsafePointer(arguments.pointers)
        request.environment = UnsafePointer(environment.pointers)
        request.input = pipes.input?.descriptor ?? -1
        request.output = pipes.output?.descriptor ?? -1
        request.error = pipes.error?.descriptor ?? -1
        request.report = pipes.report?.descriptor ?? -1
        request.directory = directory.descriptor
        defer { withExtendedLifetime((arguments, environment, pipes)) {} }
        return try withFields(of: &request) { request throws(ProgramStartFailure) in try launcher.start(request) }
    }

    /// Calls `body` with the fields that point to texts and arrays of this value.
    private func withFields<Value>(
        of request: inout clinux_guardian_request,
        _ body: (clinux_guardian_request) throws(ProgramStartFailure) -> Value
    ) throws(ProgramStartFailure) -> Value {
        let values = limits.map { limit in
            clinux_guardian_limit(
                resource: limit.resource.number, soft: limit.soft, hard: limit.hard ?? UInt64.max - 1)
        }
        request.limit_count = Int32(clamping: values.count)
        request.changes_user = user == nil ? 0 : 1
        request.user = user?.user ?? 0
        request.group = user?.group ?? 0
        let groups = user?.groups ?? []
        request.group_count = Int32(clamping: groups.count)
        guard let texts = CStringTable([path, lockPath]) else { throw ProgramStartFailure(.prepare, EINVAL) }
        request.program = texts.pointers[0]
        request.lock_path = texts.pointers[1]
        defer { withExtendedLifetime(texts) {} }
        let result = values.withUnsafeBufferPointer { values in
            groups.withUnsafeBufferPointer { groups in
                request.limits = values.baseAddress
                request.groups = groups.baseAddress
                return Result { () throws(ProgramStartFailure) in try body(request) }
            }
        }
        return try result.get()
    }

    /// Whole milliseconds, at most 49 days.
    static func milliseconds(_ duration: Duration) -> UInt32 {
        UInt32(clamping: max(duration.nanoseconds, 0) / 1_000_000)
    }
}
