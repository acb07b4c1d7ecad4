/// Chooses the measure of a link: bytes, unless they flow in less than a quarter of the time, as beside own
/// operations, empty files and `request`; and then completions, until bytes flow in three quarters of it.
/// Time is weighted with a half-life of 2 s, so that one large file among thousands of empty ones does not
/// change the measure. Pure.
struct MeasureChoice: Sendable {
    private(set) var measure = WorkMeasure.bytes
    private var flow = MovingAverage(halfLife: .seconds(2))
    private var seen = Duration.zero

    /// - Returns: whether it chose another one: what was measured before cannot be compared.
    mutating func add(_ tick: LinkInterval) -> Bool {
        flow.add(tick.rate > 0 ? 1 : 0, for: tick.duration)
        seen += tick.duration
        let share = flow.value ?? 1
        let before = measure
        if share > 0.75 { measure = .bytes } else if share < 0.25, seen >= .seconds(1) { measure = .completions }
        return measure != before
    }
}
