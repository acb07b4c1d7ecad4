internal import Commands
internal import Work

extension CommandExecution {
    /// Whether what was last written at `time` may be the work of this command, which does not write before it is there.
    ///
    /// HTTP counts in whole seconds, some file systems in steps of two, and the clock of a server may differ a little: two
    /// seconds are allowed.
    func mayHaveWritten(at time: Timestamp) -> Bool { time + .seconds(2) >= command.createdAt }
}
