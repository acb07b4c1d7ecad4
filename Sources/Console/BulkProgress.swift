/// The number of commands that a bulk has submitted, and when to show it. Times are nanoseconds of one clock,
/// which is passed in.
package struct BulkProgress: Sendable {
    private var count: Int64 = 0
    private var pace: ProgressPace

    package init(now: Int64) { pace = ProgressPace(now: now) }

    /// - Returns: the text to show now; nil where it is too early.
    package mutating func add(_ commands: Int, now: Int64) -> String? {
        count += Int64(commands)
        guard pace.isDue(now) else { return nil }
        return "\(Figures.grouped(count)) submitted  \(Figures.grouped(pace.perSecond(count, now: now)))/s"
    }
}
