/// How a child ended.
package struct ChildExit: Sendable, Equatable {
    package enum Status: Sendable, Equatable, CustomStringConvertible {
        case exited(CInt)
        case signaled(CInt)
        /// It never ran; the sentence says why.
        case notStarted(String)

        package var description: String {
            switch self {
            case .exited(let code): "exit status \(code)"
            case .signaled(let number): "signal \(number)"
            case .notStarted(let reason): "not started: \(reason)"
            }
        }
    }

    package let name: String
    /// Zero where it never ran.
    package let pid: Int32
    package let status: Status
    /// The supervisor had told it to end.
    package let ordered: Bool
    /// What it wrote to standard error last.
    package let lastLines: [String]
}

/// A child at this moment.
package struct ChildStatus: Sendable, Equatable {
    /// Nil between a death and the restart.
    package let pid: Int32?
    package let restarts: Int
}

package enum SupervisionError: Error, Sendable, CustomStringConvertible {
    /// One child died so often that starting it again is hopeless; the others were stopped.
    case hopeless(ChildExit, deaths: Int, window: Duration)
    /// The supervisor's own resources: descriptors or threads.
    case system(attempt: String, number: CInt, reason: String)

    package var description: String {
        switch self {
        case .hopeless(let exit, let deaths, let window):
            let said =
                exit.lastLines.isEmpty ? "it said nothing" : "it said last:\n" + exit.lastLines.joined(separator: "\n")
            return "\(exit.name) died \(deaths) times in \(window), the last time with \(exit.status); \(said)"
        case .system(let attempt, _, let reason):
            return "cannot \(attempt): \(reason)"
        }
    }
}
