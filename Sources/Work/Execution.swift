public import Commands
internal import Synchronization

/// One execution of a command, in the hands of its operation.
public final class Execution: Sendable {
    /// The command as it stood when it was claimed.
    public let command: Command
    /// JSON, as submitted.
    public let payload: [UInt8]
    private let meter: TransferMeter

    package init(command: Command, payload: [UInt8], meter: TransferMeter) {
        self.command = command
        self.payload = payload
        self.meter = meter
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
}
