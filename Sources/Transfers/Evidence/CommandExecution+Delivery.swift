package import Commands
package import Operations

extension CommandExecution {
    /// Whether this command may have written a file that was last modified at `time`: not if it was created
    /// later.
    ///
    /// Two seconds are tolerated, because HTTP counts whole seconds, some file systems count steps of two
    /// seconds, and clocks differ a little.
    package func mayHaveWritten(at time: Timestamp) -> Bool { time + .seconds(2) >= command.createdAt }
}
