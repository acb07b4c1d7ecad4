internal import Host

/// Whether a body arrives fast enough. Only the time in which the server waits for bytes counts: a server that is slow
/// itself must not blame the client.
struct BodyRate: Sendable {
    enum Verdict: Equatable {
        case tooSlow
        /// Not before this time can the body be too slow.
        case checkAfter(Duration)
    }

    private let minBytes: Int
    private let window: Duration
    private var waited: Duration = .zero
    private var waitingSince: MonotonicTime?
    private var bytes = 0

    /// - Parameter rate: bytes a second.
    init(rate: Int, window: Duration) {
        minBytes = Int(clamping: Int64((Double(rate) * (window / .seconds(1))).rounded(.up)))
        self.window = window
    }

    mutating func begin() { (waited, waitingSince, bytes) = (.zero, nil, 0) }

    mutating func beginWait(at now: MonotonicTime) { waitingSince = now }

    mutating func endWait(at now: MonotonicTime, bytes received: Int) {
        if let waitingSince { waited += now - waitingSince }
        waitingSince = nil
        bytes += received
    }

    mutating func check(at now: MonotonicTime) -> Verdict {
        let total = waited + (waitingSince.map { now - $0 } ?? .zero)
        guard total >= window else { return .checkAfter(window - total) }
        guard bytes >= minBytes else { return .tooSlow }
        (waited, bytes) = (.zero, 0)
        if waitingSince != nil { waitingSince = now }
        return .checkAfter(window)
    }
}
