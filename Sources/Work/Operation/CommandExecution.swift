public import Commands

/// One execution of a command, in the hands of its operation.
public final class CommandExecution: Sendable {
    /// The command as it stood when it was claimed.
    public let command: Command
    /// JSON, as ``CommandOperation/inspect(_:)`` left it at submit.
    public let payload: [UInt8]
    /// How fast it may send.
    package let pace: Pace
    /// What an earlier execution of the command has left here by ``saveCheckpoint(_:)``; nil where none has.
    public let checkpoint: [UInt8]?
    private let meter: TransferMeter
    private let saver: @Sendable ([UInt8]) async throws -> Void

    /// - Parameter saver: makes a state durable; throws where the command is not this execution's any more.
    package init(
        command: Command, payload: [UInt8], checkpoint: [UInt8]? = nil, meter: TransferMeter,
        pace: Pace = Pace(),
        saver: @escaping @Sendable ([UInt8]) async throws -> Void = { _ in }
    ) {
        self.command = command
        self.payload = payload
        self.checkpoint = checkpoint
        self.meter = meter
        self.pace = pace
        self.saver = saver
    }

    public var id: CommandID { command.id }
    /// The fence of this execution; stands in the names of temporary files.
    public var claim: Int { command.claim }

    /// Reports bytes that the peer has just acknowledged. Cheap: call it for every chunk.
    public func transferred(_ bytes: Int) { meter.add(bytes) }

    /// Reports bytes of a download that have just arrived, as cheaply. An execution goes one way: from the first of them on
    /// it counts for the way down of its destination's link.
    public func received(_ bytes: Int) { meter.receive(bytes) }

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

    /// Leaves to the next execution, in whichever worker, what it needs in order to go on: where the destination keeps
    /// what it has, say. On disk when this returns, so that it outlives the death of every process. Costs a commit; for
    /// what changes with each chunk there is ``progress(offset:total:)``.
    /// - Parameter state: replaces what was kept before. A few hundred bytes.
    /// - Throws: `CancellationError` where another execution has taken the command over.
    public func saveCheckpoint(_ state: [UInt8]) async throws { try await saver(state) }

    /// Whether this execution was told to stop so that another one may go on from where it is: it was preempted, or its
    /// worker drains. False where it was cancelled, and what it has begun is nobody's any more.
    public var isReleased: Bool { meter.reading.isReleased }
}
