public import Commands
internal import Synchronization

/// One execution of a command, in the hands of its operation.
public final class CommandExecution: Sendable {
    /// How long an operation may take to stop when its worker drains: the grace of a program is at most this
    /// then. `up` waits for the grace, this time and a margin before it kills a worker.
    package static let stopTimeout: Duration = .seconds(10)

    /// The command as it stood when it was claimed.
    public let command: Command
    /// JSON, as ``CommandOperation/inspect(_:)`` left it at submit.
    public let payload: [UInt8]
    /// How fast it may send.
    package let pace: Pace
    /// The checkpoint that an earlier execution saved by ``saveCheckpoint(_:)``; nil without one.
    public let checkpoint: [UInt8]?
    package let meter: TransferMeter
    private let saver: @Sendable ([UInt8]) async throws -> Void
    private let held: HeldObject
    private let publisher: @Sendable (_ topic: String, _ body: JSONValue) -> Void
    private let observer: (any ExecutionObserver)?

    /// Shared by the copies of an execution.
    private final class HeldObject: Sendable {
        let object = Mutex<(any Sendable)?>(nil)
        /// The checkpoint as it stands, without the counter.
        let state: Mutex<[UInt8]?>
        let counter: ProgressCounter

        init(_ checkpoint: [UInt8]?) {
            let (state, counter) = ProgressCounter.split(checkpoint)
            self.state = Mutex(state)
            self.counter = counter
        }
    }

    /// - Parameter saver: makes a checkpoint durable; throws where the command is in other hands.
    package convenience init(
        command: Command, payload: [UInt8], checkpoint: [UInt8]? = nil, meter: TransferMeter,
        pace: Pace = Pace(),
        saver: @escaping @Sendable ([UInt8]) async throws -> Void = { _ in },
        publisher: @escaping @Sendable (_ topic: String, _ body: JSONValue) -> Void = { _, _ in },
        observer: (any ExecutionObserver)? = nil
    ) {
        self.init(
            command: command, payload: payload, checkpoint: ProgressCounter.split(checkpoint).state, meter: meter,
            pace: pace, held: HeldObject(checkpoint), saver: saver, publisher: publisher, observer: observer)
    }

    /// The same execution with another payload: the id and the claim say which one it is.
    package convenience init(_ execution: CommandExecution, payload: [UInt8]) {
        self.init(
            command: execution.command, payload: payload, checkpoint: execution.checkpoint, meter: execution.meter,
            pace: execution.pace, held: execution.held, saver: execution.saver, publisher: execution.publisher,
            observer: execution.observer)
    }

    private init(
        command: Command, payload: [UInt8], checkpoint: [UInt8]?, meter: TransferMeter, pace: Pace, held: HeldObject,
        saver: @escaping @Sendable ([UInt8]) async throws -> Void,
        publisher: @escaping @Sendable (_ topic: String, _ body: JSONValue) -> Void,
        observer: (any ExecutionObserver)?
    ) {
        self.command = command
        self.payload = payload
        self.checkpoint = checkpoint
        self.meter = meter
        self.pace = pace
        self.held = held
        self.saver = saver
        self.publisher = publisher
        self.observer = observer
    }

    public var id: CommandID { command.id }
    /// The fence of this execution; part of the names of temporary files.
    public var claim: Int { command.claim }

    /// Reports bytes that the peer has just acknowledged. Cheap: call it for every chunk.
    public func transferred(_ bytes: Int) { meter.add(bytes) }

    /// Reports bytes of a download that have just arrived, as cheaply. An execution has one direction: from
    /// these bytes on it counts for the way down of its destination's link.
    public func received(_ bytes: Int) { meter.receive(bytes) }

    /// Reports how many bytes from the start are durable at the destination, of `total` (0: not known).
    /// Shown as progress; stored at most 4 times a second.
    public func progress(offset: Int64, total: Int64) {
        meter.progress(offset: offset, total: total)
        observer?.progressed(offset: offset, total: total)
    }

    /// Reports how many bytes of the file have gone into a checksum, while no bytes move. Shown in place of the
    /// offset, and not stored. The next ``progress(offset:total:)`` ends it.
    package func verifying(_ bytes: Int64) { meter.verify(bytes) }

    /// Declares that another execution can go on from the offset that was reported last. Until it is called,
    /// a stop means that everything is sent again, and preemption counts it so.
    public func canResume() { meter.canResume() }

    /// Reports the kernel's measurements of the connection.
    package func observed(_ connection: TransferMeter.Connection) { meter.observed(connection) }

    /// Reports that its pace has made it wait.
    package func waitedForPace() { meter.waited() }

    /// Saves a checkpoint: what the next execution, in any worker, needs in order to go on, for example the
    /// URL of an upload session. It is on disk when this returns. It costs a commit; for numbers that change
    /// with each chunk there is ``progress(offset:total:)``.
    /// - Parameter state: replaces the checkpoint before. A few hundred bytes. Empty: there is nothing to go on
    ///   from, and nothing is left at the destination.
    /// - Throws: `CancellationError` where another execution has taken the command over; a final ``CommandFailure``
    ///   where the checkpoint is larger than 1 MiB.
    public func saveCheckpoint(_ state: [UInt8]) async throws {
        guard state.count <= StoredLimits.checkpoint else {
            let problem = "a checkpoint has \(state.count) bytes, and at most \(StoredLimits.checkpoint) are kept"
            throw CommandFailure(.final, reason: problem, ambiguous: true)
        }
        held.state.withLock { $0 = state }
        try await saver(held.counter.joined(to: state))
        await observer?.saved(state)
    }

    /// A failure as ``ProgressCounter`` counts it. The counter is saved with the checkpoint.
    package func counted(_ error: any Error) async -> any Error {
        let state = held.state.withLock { $0 }
        guard let failure = error as? CommandFailure, failure.fault != .final,
            !failure.isHeldBack || failure.isPending, state == nil || state?.first == UInt8(ascii: "{")
        else { return error }
        var counter = held.counter
        if failure.isPending {
            guard counter.pending(now: .now) else {
                return CommandFailure(.final, reason: "\(failure.reason); so it has answered for 7 days")
            }
            do { try await saver(counter.joined(to: state)) } catch { return failure }
            return failure
        }
        let reading = meter.reading
        let verdict = counter.failed(durable: reading.isResumable ? reading.offset : 0, body: failure.bodyEnd)
        if counter != held.counter {
            do { try await saver(counter.joined(to: state)) } catch { return failure }
        }
        return counter.counted(failure, verdict)
    }

    /// Publishes an event to monitors, under a topic of `Published.topics`. It is a hint that may be lost.
    package func publish(_ topic: String, _ body: JSONValue) { publisher(topic, body) }

    /// Whether this execution was told to stop so that another one may go on from here: it was preempted, or
    /// its worker drains. False where it was cancelled, and its partial work is to be discarded.
    public var isReleased: Bool { meter.reading.isReleased }

    /// Whether this execution was told to stop because its worker ends, which waits for
    /// ``stopTimeout``.
    package var isDrained: Bool { meter.reading.isDrained }

    /// Keeps an object until this execution goes away, whether or not ``CommandOperation/execute(_:)`` is
    /// called: a slot that ``CommandOperation/prepare(_:)`` has taken.
    package func hold(_ object: any Sendable) { held.object.withLock { $0 = object } }
}

/// Hears of the steps of executions, on their tasks: for tests of operations.
///
/// A step goes on when the call returns.
package protocol ExecutionObserver: Sendable {
    /// The operation is called next, with this execution.
    func started(_ execution: CommandExecution) async
    /// A checkpoint is in the store.
    func saved(_ checkpoint: [UInt8]) async
    /// The operation has reported its progress, in bytes. Blocks the operation.
    func progressed(offset: Int64, total: Int64)
}
