internal import CLinux
internal import Glibc
internal import Host
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

/// Texts as C has them: a table of pointers that ends with a null pointer.
final class CStringTable {
    let pointers: UnsafeMutablePointer<UnsafePointer<CChar>?>
    private let text: UnsafeMutablePointer<CChar>

    /// - Returns: nil where a text contains a zero byte, which would end it there.
    init?(_ texts: [String]) {
        guard !texts.contains(where: { $0.utf8.contains(0) }) else { return nil }
        text = .allocate(capacity: texts.reduce(1) { $0 + $1.utf8.count + 1 })
        pointers = .allocate(capacity: texts.count + 1)
        var end = text
        for (index, string) in texts.enumerated() {
            pointers[index] = UnsafePointer(end)
            for byte in string.utf8 {
                end.pointee = CChar(bitPattern: byte)
                end += 1
            }
            end.pointee = 0
            end += 1
        }
        pointers[texts.count] = nil
    }

    deinit {
        text.deallocate()
        pointers.deallocate()
    }
}
