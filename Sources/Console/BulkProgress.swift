/// How many commands a bulk has submitted so far, and when to say so. Times are nanoseconds of one clock, which is passed in.
package struct BulkProgress: Sendable {
    private var count: Int64 = 0
    private var pace: ProgressPace

    package init(now: Int64) { pace = ProgressPace(now: now) }

    /// - Returns: what is to be said now; nil where it is too early.
    package mutating func add(_ commands: Int, now: Int64) -> String? {
        count += Int64(commands)
        guard pace.isDue(now) else { return nil }
        return "\(Figures.grouped(count)) submitted  \(Figures.grouped(pace.perSecond(count, now: now)))/s"
    }
}

/// When to say how far something is: nothing of what is soon done, then five times a second.
struct ProgressPace: Sendable {
    private let start: Int64
    private var next: Int64

    private static let timeout: Int64 = 400_000_000
    private static let step: Int64 = 200_000_000

    init(now: Int64) {
        start = now
        next = now + Self.timeout
    }

    mutating func isDue(_ now: Int64) -> Bool {
        guard now >= next else { return false }
        next = now + Self.step
        return true
    }

    /// - Parameter amount: since the start.
    func perSecond(_ amount: Int64, now: Int64) -> Int64 { Int64(Double(amount) / (Double(max(now - start, 1)) / 1e9)) }
}
