internal import CLinux
internal import Glibc
internal import Host
internal import Transfers

/// The descriptors of a program, and the worker's ends of them.
struct ProgramPipes {
    /// Descriptors 0 to 3 of the program; nil: closed.
    var input: OpenFile?
    var output: OpenFile?
    var error: OpenFile?
    var report: OpenFile?
    /// The worker's ends; nil where there is none, or it is closed.
    var inputEnd: OpenFile?
    var outputEnd: OpenFile?
    var errorEnd: OpenFile?
    var reportEnd: OpenFile?

    init(for program: GuardedProgram) throws(SystemError) {
        switch program.input {
        case .none: input = try OpenFile("/dev/null", O_RDONLY)
        case .file(let file): input = file
        case .bytes:
            let (reader, writer) = try Self.pipe()
            (input, inputEnd) = (reader, try Self.nonblocking(writer))
        }
        (outputEnd, output) = try Self.ends(program.output)
        (errorEnd, error) = try Self.ends(program.error)
        if program.hasReportChannel { (reportEnd, report) = try Self.ends(.events) }
    }

    private static func ends(_ output: GuardedProgram.Output) throws(SystemError) -> (OpenFile?, OpenFile?) {
        switch output {
        case .file(let file): return (nil, file)
        case .events:
            let (reader, writer) = try pipe()
            return (try nonblocking(reader), writer)
        }
    }

    private static func pipe() throws(SystemError) -> (OpenFile, OpenFile) {
        var ends: [CInt] = [-1, -1]
        guard clinux_pipe(&ends) == 0 else { throw SystemError(errno, attempt: "create a pipe") }
        return (OpenFile(owning: ends[0]), OpenFile(owning: ends[1]))
    }

    /// Only this end: the program has its own description of the pipe, which blocks.
    private static func nonblocking(_ end: OpenFile) throws(SystemError) -> OpenFile {
        guard clinux_fcntl(end.descriptor, F_SETFL, O_NONBLOCK) == 0 else {
            throw SystemError(errno, attempt: "set up a pipe")
        }
        return end
    }
}

/// The bytes of a program's standard input that are not written yet.
struct ProgramInput {
    private var bytes: [UInt8] = []
    private var offset = 0

    init() {}

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isDone: Bool { offset == bytes.count }

    /// Writes as much as the pipe takes.
    /// - Returns: whether the input is done: everything is written, or the program has closed it. A program
    ///   need not read its input, so that is not an error.
    mutating func write(to descriptor: CInt) -> Bool {
        while !isDone {
            let count = bytes[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 else { return errno != EAGAIN }
            offset += count
        }
        return true
    }
}
