package import Commands
internal import Foundation

/// The Python scripts beside this file, which ask another implementation for the right answer.
package enum PythonScript {
    /// The Python of the virtual environment with the peers from PyPI, in the cache of the user. `deploy/prepare test`
    /// makes it and has the same path.
    package static var peers: String {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache"
        return "\(cache)/sluice/peers/bin/python"
    }

    /// Whether a Python with this module is installed: that of ``peers``, of `PATH` or of Debian.
    package static func has(_ module: String) -> Bool { interpreter(with: module) != nil }

    /// Runs a script and reads its output.
    /// - Parameters:
    ///   - name: the file's name.
    ///   - module: the module that it needs.
    ///   - input: the lines of its standard input.
    /// - Returns: the lines of its output.
    package static func lines(
        _ name: String, needing module: String, _ arguments: [String], input: [JSONValue] = []
    ) async throws -> [String] {
        guard let python = interpreter(with: module) else {
            throw Missed("no Python has the module \(module); deploy/prepare test installs it")
        }
        let script = path(name)
        let directory = try TemporaryDirectory("python")
        defer { directory.remove() }
        let child = try ChildProcess(
            [python, script] + arguments, input: Array(input.map(\.text).joined(separator: "\n").utf8),
            log: "\(directory.path)/script")
        let end = try await child.end(within: .seconds(120))
        guard end == .exited(0) else { throw Missed("\(name): \(end): \(child.errors)") }
        return child.output.split(separator: "\n").map(String.init)
    }

    /// The path of a script.
    package static func path(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name).path
    }

    package static func interpreter(with module: String) -> String? {
        candidates.first { path in
            let process = Process()
            process.executableURL = URL(fileURLWithPath: path)
            process.arguments = ["-c", "import \(module)"]
            process.standardError = FileHandle.nullDevice
            guard (try? process.run()) != nil else { return false }
            process.waitUntilExit()
            return process.terminationStatus == 0
        }
    }

    private static var candidates: [String] {
        let environment = ProcessInfo.processInfo.environment
        let paths = (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/python3" }
        return ([peers] + paths + [program("python3")].compactMap(\.self)).filter { access($0, X_OK) == 0 }
    }
}
