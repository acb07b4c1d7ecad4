/// Ticks of all processors since boot, from `/proc/stat` (proc_stat(5)): user nice system idle iowait irq
/// softirq steal.
struct ProcessorTime {
    var idle: Int64
    /// Time that a hypervisor gave to other guests while this machine had work.
    var stolen: Int64
    var total: Int64

    static var now: ProcessorTime {
        let line = SmallFile.read("/proc/stat")?.split(separator: "\n").first ?? ""
        let ticks = line.split(separator: " ").dropFirst().prefix(8).compactMap { Int64($0) }
        guard ticks.count == 8 else { return ProcessorTime(idle: 0, stolen: 0, total: 0) }
        return ProcessorTime(idle: ticks[3], stolen: ticks[7], total: ticks.reduce(0, +))
    }

    /// Since an earlier time.
    func since(_ before: ProcessorTime) -> ProcessorTime {
        ProcessorTime(idle: idle - before.idle, stolen: stolen - before.stolen, total: total - before.total)
    }

    /// Waits until the machine has been nine tenths idle for half a second, at most 3 s, so that work left
    /// over from one measurement does not slow down the next.
    static func untilIdle() {
        for _ in 0..<6 {
            let before = now
            BenchClock.sleep(0.5)
            let time = now.since(before)
            if time.idle * 10 >= time.total * 9 { return }
        }
    }
}
