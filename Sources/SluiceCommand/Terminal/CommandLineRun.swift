internal import ArgumentParser
internal import CLinux
internal import Commands
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

    init(_ arguments: [String], variables: [String: String], input: CInt) {
        self.arguments = arguments
        self.variables = variables
        self.input = input
        umask = Self.processUmask
    }

    /// - Returns: `body` as a part of the run of this task, for a thread.
    static func bound<Value>(_ body: @escaping @Sendable () -> Value) -> @Sendable () -> Value {
        let run = current
        return { $current.withValue(run) { body() } }
    }

    /// The umask that this process has inherited. Its own files are private.
    static var inheritedUmask: mode_t { current?.umask ?? replacedUmask }

    private static let replacedUmask = Glibc.umask(0o077)

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

/// The arguments of this process, or of the run within it.
enum ProgramArguments {
    /// As the kernel has passed them, with a null pointer at the end; for execv(3).
    static var pointers: UnsafePointer<UnsafeMutablePointer<CChar>?> { clinux_arguments() }

    /// Without the name of the program. Bytes that are not UTF-8 are replaced.
    static var rest: [String] { CommandLineRun.current?.arguments ?? ofProcess }

    private static let ofProcess: [String] = (1..<max(Int(clinux_argument_count()), 1)).compactMap { index in
        pointers[index].map { String(cString: $0) }
    }

    /// Whether they ask for something that the parser prints: help, the version or a completion script.
    static var askForText: Bool {
        rest.first == "help" || rest.contains("-h")
            || rest.contains { argument in
                ["--help", "--version", "--generate-completion-script", "--experimental-dump-help"].contains {
                    argument.hasPrefix($0)
                }
            }
    }
}

/// Arguments, environment variables and paths from the kernel are bytes. Sluice stores paths and keys as
/// JSON, which is UTF-8, so other bytes are refused here by name: with replacement characters they could name
/// another file.
enum ByteText {
    /// An environment variable.
    /// - Returns: nil where it is not set.
    /// - Throws: a `ValidationError` that names the variable.
    static func variable(_ name: String) throws -> String? {
        if let value = CommandLineRun.current?.variables[name] { return value }
        guard let value = getenv(name) else { return nil }
        guard let text = text(value) else {
            let shown = String(shellQuoting: UnsafeRawBufferPointer(start: value, count: strlen(value)))
            throw ValidationError("The environment variable \(name) is \(shown), which is not valid UTF-8.")
        }
        return text
    }

    /// The text of bytes from the kernel; nil where they are not valid UTF-8.
    static func text(_ bytes: UnsafePointer<CChar>) -> String? { String(validatingCString: bytes) }
}

/// The form that the last refused value of the command line should have had.
///
/// The parser's error has the option and the value, and nothing of the type that refused the value. It ends at the
/// first refusal.
enum ArgumentForm {
    struct State {
        var expected: String?
        var suggestion: String?
    }

    private static let ofProcess = Mutex(State())

    /// Nil where the type is the standard library's: then it is a number.
    static var expected: String? { withState { $0.expected } }

    /// The value that was probably meant.
    static var suggestion: String? {
        get { withState { $0.suggestion } }
        set { withState { $0.suggestion = newValue } }
    }

    /// - Parameter form: ends a sentence that begins with “use”.
    static func expect(_ form: String) { withState { $0.expected = form } }

    private static func withState<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        guard let run = CommandLineRun.current else { return ofProcess.withLock { body(&$0) } }
        return run.argumentForm.withLock { body(&$0) }
    }
}
