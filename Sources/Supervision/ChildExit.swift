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
