/// How far a set of commands has got.
package struct TransferProgress: Sendable, Equatable {
    package var commands: Int
    /// Ended well or badly.
    package var ended = 0
    package var failed = 0
    package var done: Int64 = 0
    /// Bytes in all; 0 where nobody knows.
    package var total: Int64 = 0
    /// Bytes per second.
    package var rate: Int64 = 0
    /// What is said while nothing moves.
    package var note = ""

    package init(commands: Int, total: Int64 = 0) {
        self.commands = commands
        self.total = total
    }

    package var fraction: Double {
        if total > 0 { return Double(done) / Double(total) }
        return commands > 0 ? Double(ended) / Double(commands) : 0
    }
}
