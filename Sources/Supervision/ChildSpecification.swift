/// A child process that the supervisor keeps running.
package struct ChildSpecification: Sendable {
    /// Unique among the children; shown in logs and errors: `coordinator`, `worker-1`.
    package var name: String
    /// Without the executable's own name.
    package var arguments: [String]
    /// Added to the supervisor's own environment.
    package var environment: [String: String]
    /// A stop ends the children of the first stage, and those of the next stage when these are gone.
    package var stage: Stage
    /// Whether the supervisor ends all children where this one cannot start.
    package var isEssential = true

    package enum Stage: Int, Sendable, Comparable, CaseIterable {
        /// Children that no other child needs in order to end: workers, the door.
        case first
        /// Children that others need while they drain: the coordinator.
        case last

        package static func < (left: Stage, right: Stage) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    package init(name: String, arguments: [String], environment: [String: String] = [:], stage: Stage = .first) {
        self.name = name
        self.arguments = arguments
        self.environment = environment
        self.stage = stage
    }
}

/// The state of a child at this moment.
package struct ChildStatus: Sendable, Equatable {
    /// Nil between a death and the restart.
    package let pid: Int32?
    package let restarts: Int
}

/// How a child ended.
package struct ChildExit: Sendable, Equatable {
    package enum Status: Sendable, Equatable, CustomStringConvertible {
        case exited(CInt)
        case signaled(CInt)
        /// It never ran, for this reason, which may pass: the system has no process, descriptor or memory for it.
        case notStarted(String, mayPass: Bool = false)

        /// Whether the child may start later, without a change by a person: it could not create or write a file (73, 74), or
        /// said “try again” (75), by the codes of sysexits.h.
        package var isPassing: Bool {
            switch self {
            case .exited(let code): (73...75).contains(code)
            case .signaled: false
            case .notStarted(_, let mayPass): mayPass
            }
        }

        package var description: String {
            switch self {
            case .exited(let code): "exit status \(code)"
            case .signaled(let number): "signal \(number)"
            case .notStarted(let reason, _): "not started: \(reason)"
            }
        }
    }

    package let name: String
    /// 0 if it never ran.
    package let pid: Int32
    package let status: Status
    /// The supervisor had told it to end.
    package let isIntentional: Bool
    /// The last lines of its standard error.
    package let lastLines: [String]
}

/// The failure of a child to start. A child that is tried again every few seconds fails in the same way for hours, and one
/// log of the cause is enough. Pure.
struct StartFailure: Sendable, Equatable {
    private let status: ChildExit.Status
    private let lines: Set<[UInt8]>

    /// Nil for a child that was killed: it may have run well until then.
    /// - Parameter lastLines: of the child's standard error, as ``StandardErrorRelay`` remembers them.
    init?(_ status: ChildExit.Status, _ lastLines: [String]) {
        if case .signaled = status { return nil }
        self.status = status
        lines = Set(lastLines.map { Self.key(of: Array($0.utf8)[...]) })
    }

    /// Whether a line of another run says the same.
    func has(_ line: ArraySlice<UInt8>) -> Bool { lines.contains(Self.key(of: line)) }

    /// The line without digits: each run has other times and process ids. Without its last four bytes too, where a
    /// remembered line may have been cut within a character.
    private static func key(of line: ArraySlice<UInt8>) -> [UInt8] {
        line.prefix(StandardErrorRelay.maxRemembered - 4).filter {
            !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
    }
}
