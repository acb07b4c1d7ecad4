package import Host

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
