/// An event of a guarded program, in the order: `waitingForLock`, `started`, outputs and reports, `ended`.
enum ProgramEvent: Sendable, Equatable {
    enum Stream: Sendable, Equatable {
        case output
        case error
    }

    /// An earlier run is still ending.
    case waitingForLock
    case started(pid: Int32)
    /// Bytes as they came, at most 64 KiB.
    case output(Stream, [UInt8])
    case report(ProgramReport)
    /// The last event.
    case ended(ProgramEnd)
}
