internal import Commands

/// The right to send one command through a closed gate, for one at a time.
///
/// Who has it gives it back: by an answer, a failure, or by being cancelled or ignored. A permit that went with its holder
/// would close the gate for ever (resilience4j issues 544 and 935).
struct ProbePermit: Sendable, Equatable {
    private(set) var holder: CommandID?
    private(set) var takenAt: Int64
    /// Not before, in nanoseconds of the monotonic clock.
    var dueAt: Int64

    /// A probe whose end nobody reported is forgotten after this.
    static let timeout: Int64 = 30_000_000_000

    init(dueAt: Int64) {
        self.dueAt = dueAt
        takenAt = dueAt
    }

    func isFree(now: Int64) -> Bool { now >= (nextAt ?? takenAt + Self.timeout) }

    /// When the next may go; nil while one is under way.
    var nextAt: Int64? { holder == nil ? dueAt : nil }

    mutating func take(_ id: CommandID, now: Int64) {
        holder = id
        takenAt = now
    }

    /// - Returns: whether it was this command's.
    mutating func giveBack(_ id: CommandID) -> Bool {
        guard holder == id else { return false }
        holder = nil
        return true
    }
}
