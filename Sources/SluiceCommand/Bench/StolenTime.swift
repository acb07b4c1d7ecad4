internal import Glibc

/// What a hypervisor gave to other guests while this machine wanted to compute: a bench that was robbed measures its
/// neighbours.
struct StolenTime {
    private let before = StolenTime.read()

    /// A row for the figures measured since this was made; nil where nothing was taken.
    var result: BenchResult? {
        let after = Self.read()
        let total = after.total - before.total
        guard total > 0 else { return nil }
        let share = Double(after.stolen - before.stolen) / Double(total) * 100
        guard share >= 1 else { return nil }
        return BenchResult("  meanwhile the host took", share, "%", note: "of all CPU time, for its other guests")
    }

    /// Ticks since boot, from `/proc/stat` (proc_stat(5)): user nice system idle iowait irq softirq steal.
    private static func read() -> (stolen: Int64, total: Int64) {
        let line = SmallFile.read("/proc/stat")?.split(separator: "\n").first ?? ""
        let ticks = line.split(separator: " ").dropFirst().prefix(8).compactMap { Int64($0) }
        return (ticks.count == 8 ? ticks[7] : 0, ticks.reduce(0, +))
    }
}
