public import Commands

/// One execution of a command, in the hands of its operation.
public final class Execution: Sendable {
    /// The command as it stood when it was claimed.
    public let command: Command
    /// JSON, as submitted.
    public let payload: [UInt8]
    /// How fast it may send.
    package let pace: Pace
    private let meter: TransferMeter

    package init(command: Command, payload: [UInt8], meter: TransferMeter, pace: Pace = Pace()) {
        self.command = command
        self.payload = payload
        self.meter = meter
        self.pace = pace
    }

    public var id: CommandID { command.id }
    /// The fence of this execution; stands in the names of temporary files.
    public var claim: Int { command.claim }

    /// Reports bytes that the peer has just acknowledged (or that have arrived). Cheap: call it for every chunk.
    public func transferred(_ bytes: Int) { meter.add(bytes) }

    /// Reports how far the destination has durably got, in bytes from the start, of `total` (0: not known).
    /// Shown as progress; stored at most 4 times a second.
    public func progress(offset: Int64, total: Int64) { meter.progress(offset: offset, total: total) }

    /// Says that another execution can go on from the offset that was reported last. Until it is called, a cut means that
    /// everything is sent again, and the planner of preemptions counts it so.
    public func canResume() { meter.canResume() }

    /// Reports what the kernel knows of the connection.
    package func observed(_ connection: TransferMeter.Connection) { meter.observed(connection) }

    /// Says that its pace has made it wait.
    package func waitedForPace() { meter.waited() }
}
