internal import Glibc
internal import Host
internal import Synchronization

/// A command line that runs inside a process that lives on, such as that of the tests: its arguments, variables and standard
/// streams. Without one, they are those of the process.
///
/// It changes nothing of the process: it handles no signal, sets no umask and ends with an exit code instead of exit(3).
package final class CommandLineRun: Sendable {
    /// The run of this task; nil where the process has been started for the command line.
    @TaskLocal static var current: CommandLineRun?

    /// The end of a run, as that of a process.
    package struct Result: Sendable {
        package var code: Int32
        package var output: [UInt8]
        package var errors: [UInt8]
    }

    /// Without the name of the program.
    let arguments: [String]
    /// Variables that replace those of the process.
    let variables: [String: String]
    /// The descriptor of standard input.
    let input: CInt
    /// The umask of the process, which stays as it is: the files of Sluice have modes of their own.
    let umask: mode_t
    let output = Mutex<[UInt8]>([])
    let errors = Mutex<[UInt8]>([])
    let argumentForm = Mutex(ArgumentForm.State())

    private init(_ arguments: [String], variables: [String: String], input: CInt) {
        self.arguments = arguments
        self.variables = variables
        self.input = input
        umask = Self.processUmask
    }

    /// Runs a command line to its end.
    ///
    /// For a command that ends by itself: services, `watch` and `bench` need a process of their own.
    /// - Parameters:
    ///   - arguments: without the name of the program.
    ///   - variables: variables that replace those of the process. Those of ``DataOptions`` are read from here.
    ///   - input: the descriptor of standard input, which the caller closes.
    package static func run(
        _ arguments: [String], variables: [String: String] = [:], input: CInt
    ) async -> Result {
        let run = CommandLineRun(arguments, variables: variables, input: input)
        let code = await $current.withValue(run) { await SluiceTool.runToEnd() }
        return Result(
            code: code.rawValue, output: run.output.withLock { $0 }, errors: run.errors.withLock { $0 })
    }

    /// - Returns: `body` as a part of the run of this task, for a thread.
    static func bound<Value>(_ body: @escaping @Sendable () -> Value) -> @Sendable () -> Value {
        let run = current
        return { $current.withValue(run) { body() } }
    }

    /// The umask without a change of it, which umask(2) cannot tell: field Umask of proc_pid_status(5).
    private static var processUmask: mode_t {
        let line = SmallFile.read("/proc/self/status")?.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        return line?.split(whereSeparator: \.isWhitespace).last.flatMap { mode_t($0, radix: 8) } ?? 0o022
    }
}

/// Standard input.
enum StandardInput {
    static var descriptor: CInt { CommandLineRun.current?.input ?? STDIN_FILENO }
    /// For a reader of files.
    static var path: String { CommandLineRun.current.map { "/dev/fd/\($0.input)" } ?? "/dev/stdin" }
}
