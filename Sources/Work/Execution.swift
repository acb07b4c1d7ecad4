public import Commands
internal import Synchronization

/// One execution of a command, in the hands of its operation.
public final class Execution: Sendable {
    /// The command as it stood when it was claimed.
    public let command: Command
    /// JSON, as submitted.
    public let payload: [UInt8]
    /// What an earlier execution of the command has left here by ``keep(_:)``; nil where none has.
    public let kept: [UInt8]?
    private let meter: TransferMeter
    private let keeper: @Sendable ([UInt8]) async throws -> Void

    /// - Parameter keeper: makes a state durable; throws where the command is not this execution's any more.
    package init(
        command: Command, payload: [UInt8], kept: [UInt8]? = nil, meter: TransferMeter,
        keeper: @escaping @Sendable ([UInt8]) async throws -> Void = { _ in }
    ) {
        self.command = command
        self.payload = payload
        self.kept = kept
        self.meter = meter
        self.keeper = keeper
    }

    public var id: CommandID { command.id }
    /// The fence of this execution; stands in the names of temporary files.
    public var claim: Int { command.claim }

    /// Reports bytes that have just left (or arrived). Cheap: call it for every chunk.
    public func transferred(_ bytes: Int) { meter.add(bytes) }

    /// Reports how far the destination has durably got, in bytes from the start, of `total` (0: not known).
    /// Shown as progress; stored at most 4 times a second.
    public func progress(offset: Int64, total: Int64) { meter.progress(offset: offset, total: total) }

    /// Says that another execution can go on from the offset that was reported last. Until it is called, a cut means that
    /// everything is sent again, and the planner of preemptions counts it so.
    public func canResume() { meter.canResume() }

    /// Leaves to the next execution, in whichever worker, what it needs in order to go on: where the destination keeps
    /// what it has, say. On disk when this returns, so that it outlives the death of every process. Costs a commit; for
    /// what changes with each chunk there is ``progress(offset:total:)``.
    /// - Parameter state: replaces what was kept before. A few hundred bytes.
    /// - Throws: `CancellationError` where another execution has taken the command over.
    public func keep(_ state: [UInt8]) async throws { try await keeper(state) }

    /// Whether this execution was told to stop so that another one may go on from where it is: it was preempted, or its
    /// worker drains. False where it was cancelled, and what it has begun is nobody's any more.
    public var isReleased: Bool { meter.reading.isReleased }
}

/// Counts what one execution moves. Written by the operation, read by the worker 4 times a second.
package final class TransferMeter: Sendable {
    package struct Reading: Sendable, Equatable {
        /// Cumulative, of this execution.
        package var bytes: Int64 = 0
        package var offset: Int64 = 0
        package var total: Int64 = 0
        /// Another execution can go on from the offset.
        package var isResumable = false
        /// It was told to stop, and another execution may go on.
        package var isReleased = false
    }

    private let state = Mutex(Reading())

    package init(offset: Int64 = 0, total: Int64 = 0) {
        state.withLock {
            $0.offset = offset
            $0.total = total
        }
    }

    package var reading: Reading { state.withLock { $0 } }

    func add(_ bytes: Int) { state.withLock { $0.bytes += Int64(bytes) } }

    func progress(offset: Int64, total: Int64) {
        state.withLock {
            $0.offset = offset
            $0.total = total
        }
    }

    func canResume() { state.withLock { $0.isResumable = true } }

    package func release() { state.withLock { $0.isReleased = true } }
}
