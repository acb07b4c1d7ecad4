/// How a child ended.
package struct ChildExit: Sendable, Equatable {
    package enum Status: Sendable, Equatable, CustomStringConvertible {
        case exited(CInt)
        case signaled(CInt)
        /// It never ran, for this reason.
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
    /// 0 if it never ran.
    package let pid: Int32
    package let status: Status
    /// The supervisor had told it to end.
    package let isIntentional: Bool
    /// The last lines of its standard error.
    package let lastLines: [String]
}
