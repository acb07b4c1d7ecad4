internal import ArgumentParser
internal import Commands
internal import Glibc

/// Arguments, environment variables and paths from the kernel are bytes. Sluice stores paths and keys as
/// JSON, which is UTF-8, so other bytes are refused here by name: with replacement characters they could name
/// another file.
enum ByteText {
    /// Checks every argument of this process.
    /// - Throws: ``ExitError``: `input` for a file to put, `usage` for any other argument.
    static func checkArguments() throws {
        guard CommandLineRun.current == nil else { return }
        for index in 1..<ProgramArguments.rest.count + 1 {
            guard let argument = ProgramArguments.pointers[index], text(argument) == nil else { continue }
            let shown = String(shellQuoting: UnsafeRawBufferPointer(start: argument, count: strlen(argument)))
            // Only the parser gets the name with replacement characters.
            let replaced = String(cString: argument)
            if let put = try? SluiceTool.parseAsRoot(ProgramArguments.rest) as? PutCommand, put.files.contains(replaced)
            {
                throw ExitError(.input, "the file \(shown) cannot be put: its name is not valid UTF-8; rename it")
            }
            throw ExitError(.usage, "the argument \(shown) is not valid UTF-8, and names and keys must be")
        }
    }

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
