/// Time that a hypervisor gave to other guests while a bench ran. A figure with much of it measures the other
/// guests.
struct StolenTime {
    private let before = ProcessorTime.now

    /// A row for the figures since this value was made; nil below 1 %.
    var result: BenchResult? {
        let time = ProcessorTime.now.since(before)
        guard time.total > 0 else { return nil }
        let share = Double(time.stolen) / Double(time.total) * 100
        guard share >= 1 else { return nil }
        return BenchResult("  meanwhile the host took", share, "%", note: "of all CPU time, for its other guests")
    }
}
