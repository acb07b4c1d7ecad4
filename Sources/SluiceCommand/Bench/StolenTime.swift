/// What a hypervisor gave to other guests while this machine wanted to compute: a bench that was robbed measures its
/// neighbours.
struct StolenTime {
    private let before = ProcessorTime.now

    /// A row for the figures measured since this was made; nil where nothing was taken.
    var result: BenchResult? {
        let time = ProcessorTime.now.since(before)
        guard time.total > 0 else { return nil }
        let share = Double(time.stolen) / Double(time.total) * 100
        guard share >= 1 else { return nil }
        return BenchResult("  meanwhile the host took", share, "%", note: "of all CPU time, for its other guests")
    }
}
