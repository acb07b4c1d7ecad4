internal import Commands

/// Why a payload is refused at submit.
public struct PayloadError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Problem: Sendable, Equatable {
        /// A key or value that the schema does not allow (exit code 65).
        case data
        /// A source that is missing, unreadable or not a regular file (exit code 66).
        case source
        /// A source that cannot be opened now and may be later: no descriptors are left, or its disk failed
        /// (exit code 75).
        case passing
        /// A malformed URL or an unknown scheme (exit code 64).
        case usage
    }

    public var problem: Problem
    /// A sentence that names the key or the file.
    public var message: String

    public init(_ problem: Problem = .data, _ message: String) {
        self.problem = problem
        self.message = message
    }

    public var description: String { message }
}
