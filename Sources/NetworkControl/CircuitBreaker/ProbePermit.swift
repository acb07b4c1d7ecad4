internal import Commands
internal import Host

/// The right to send one command to a link whose circuit breaker is open, for one command at a time.
///
/// The command that holds the permit gives it back: by an answer, by a failure, or when it is cancelled or
/// not claimed. A permit that is lost with its holder would keep the circuit breaker open for ever
/// (resilience4j issues 544 and 935).
struct ProbePermit: Sendable, Equatable {
    private(set) var holder: CommandID?
    private(set) var takenAt: MonotonicTime
    /// The next probe does not go before this time.
    var dueAt: MonotonicTime

    /// A probe whose end was not reported loses the permit after this time.
    static let timeout: Duration = .seconds(30)

    init(dueAt: MonotonicTime) {
        self.dueAt = dueAt
        takenAt = dueAt
    }

    func isFree(now: MonotonicTime) -> Bool { now >= (nextAt ?? takenAt + Self.timeout) }

    /// When the next probe may go; nil while one is under way.
    var nextAt: MonotonicTime? { holder == nil ? dueAt : nil }

    mutating func take(_ id: CommandID, now: MonotonicTime) {
        holder = id
        takenAt = now
    }

    /// - Returns: whether the command held the permit.
    mutating func giveBack(_ id: CommandID) -> Bool {
        guard holder == id else { return false }
        holder = nil
        return true
    }
}
