internal import CLinux
internal import Glibc

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
