package import Host

/// The number of commands that a bulk has submitted, and when to show it. Pure.
package struct BulkProgress: Sendable {
    private var count: Int64 = 0
    private var pace: ProgressPace

    package init(now: MonotonicTime) { pace = ProgressPace(now: now) }

    /// - Returns: the text to show now; nil where it is too early.
    package mutating func add(_ commands: Int, now: MonotonicTime) -> String? {
        count += Int64(commands)
        guard pace.isDue(now) else { return nil }
        return "\(Figures.grouped(count)) submitted  \(Figures.grouped(pace.perSecond(count, now: now)))/s"
    }
}
