package import Host
internal import Subprocess
internal import SystemPackage

/// The version that a program states, which also shows that it runs.
package enum ProgramVersion {
    /// Runs `path --version`, for 10 s at most.
    /// - Returns: what the program prints.
    /// - Throws: ``SupervisionError/doesNotRun(_:reason:)``.
    package static func read(of path: String) async throws(SupervisionError) -> String {
        let result: Result<String, SupervisionError> = await withTaskGroup { group in
            group.addTask { await run(path) }
            group.addTask {
                try? await Task.sleep(for: .seconds(10))
                return .failure(.doesNotRun(path, reason: "it printed nothing within 10 s"))
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(.doesNotRun(path, reason: "no answer"))
        }
        return try result.get()
    }

    private static func run(_ path: String) async -> Result<String, SupervisionError> {
        do {
            let result = try await Subprocess.run(
                .path(FilePath(path)), arguments: ["--version"], input: .none, output: .string(limit: 256),
                error: .string(limit: 1024))
            guard case .exited(0) = result.terminationStatus else {
                let words = result.standardError
                return .failure(.doesNotRun(path, reason: words.isEmpty ? "\(result.terminationStatus)" : words))
            }
            return .success(String(result.standardOutput.prefix { !$0.isNewline }))
        } catch {
            return .failure(.doesNotRun(path, reason: "\(error)"))
        }
    }
}

/// Why a supervisor ends.
package enum SupervisionError: Error, Sendable, CustomStringConvertible {
    /// One child died too often within the window of the policy; the others were stopped.
    case tooManyDeaths(ChildExit, deaths: Int, window: Duration)
    /// The process has no more descriptors or threads.
    case system(SystemError)
    /// A program that is installed at a path.
    case doesNotRun(String, reason: String)

    package var description: String {
        switch self {
        case .tooManyDeaths(let exit, let deaths, let window):
            let lines = exit.lastLines.joined(separator: "\n")
            return "\(exit.name) died \(deaths) times in \(window), the last time with \(exit.status); "
                + (lines.isEmpty ? "it wrote nothing to standard error" : "its last lines were:\n" + lines)
        case .system(let error): return "\(error)"
        case .doesNotRun(let path, let reason): return "\(path) does not run: \(reason)"
        }
    }
}
