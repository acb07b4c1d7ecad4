internal import Host
internal import Store

/// The time in which a new coordinator has not decided on the transfers of every worker that ran before it started.
/// Workers keep the paces of the last coordinator meanwhile: without their reports, the share of each transfer in a
/// person's rate is not known (four transfers had 1.75 times the rate in that second). Pure.
struct Handover: Sendable {
    /// Epochs of the workers whose reports are awaited.
    private var awaited: Set<Int64>
    private let end: MonotonicTime
    private(set) var isOver: Bool

    /// A dead worker reports nothing, and neither does release 0.1.0 while nothing runs.
    static let timeout: Duration = .seconds(5)

    /// One that is over.
    init() {
        awaited = []
        end = .zero
        isOver = true
    }

    /// - Parameter sessions: in the store when the coordinator started.
    init(from sessions: [Session], now: MonotonicTime) {
        awaited = Set(sessions.map(\.epoch))
        end = now + Self.timeout
        isOver = awaited.isEmpty
    }

    /// The links were decided on.
    /// - Parameter hasReported: whether a worker's transfers were known then.
    /// - Returns: whether that ends the handover.
    mutating func decided(now: MonotonicTime, _ hasReported: (Int64) -> Bool) -> Bool {
        if isOver { return false }
        awaited = awaited.filter { !hasReported($0) }
        isOver = awaited.isEmpty || now >= end
        return isOver
    }
}
