package import Wire

/// Workers whose frames this program cannot read, because they are of another release. Pure.
///
/// Such a worker is never killed for lack of progress, and its death charges no command: this coordinator cannot see what
/// the worker does. Its death is still proven by the lock of its seat.
package struct ForeignWorkers: Sendable {
    /// By seat, the epoch of the worker.
    private var epochs: [Int: Int64] = [:]

    package init() {}

    package func contains(seat: Int, epoch: Int64) -> Bool { epochs[seat] == epoch }

    /// A frame of a worker cannot be read. A message of an unknown type says nothing about the others.
    /// - Returns: whether this is the first of the worker.
    package mutating func received(_ error: WireError, from sender: FrameHead) -> Bool {
        if case .unknownType = error.problem { return false }
        guard sender.seat != FrameHead.noSeat else { return false }
        return epochs.updateValue(sender.epoch, forKey: sender.seat) != sender.epoch
    }

    /// The worker of the seat is dead.
    package mutating func remove(seat: Int) { epochs[seat] = nil }
}
