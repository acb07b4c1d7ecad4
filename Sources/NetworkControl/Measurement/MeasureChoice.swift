/// Chooses the measure of a link: bytes, unless they flow in less than a quarter of the time, as with
/// operations of one's own, empty files and `request`; then completions, until bytes flow in three quarters
/// of the time. Time is weighted with a half-life of 2 s, so that one large file among thousands of empty
/// ones does not change the measure. Pure.
struct MeasureChoice: Sendable {
    private(set) var measure = WorkMeasure.bytes
    private var flow = MovingAverage(halfLife: .seconds(2))
    private var seen = Duration.zero

    /// - Returns: whether it chose another measure, which cannot be compared with what was measured before.
    mutating func add(_ interval: LinkInterval) -> Bool {
        flow.add(interval.rate > 0 ? 1 : 0, for: interval.duration)
        seen += interval.duration
        let share = flow.value ?? 1
        let before = measure
        if share > 0.75 { measure = .bytes } else if share < 0.25, seen >= .seconds(1) { measure = .completions }
        return measure != before
    }
}
