/// The progress of a set of commands.
package struct TransferProgress: Sendable, Equatable {
    package var commands: Int
    /// Commands that have ended, with or without success.
    package var ended = 0
    package var failed = 0
    package var done: Int64 = 0
    /// Bytes of all commands; 0 where they are unknown.
    package var total: Int64 = 0
    /// Bytes per second.
    package var rate: Int64 = 0
    /// Shown while no bytes move.
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
