internal import Commands
internal import Console

/// One figure with its goal.
struct BenchResult: Sendable {
    enum Goal: Sendable {
        case atLeast(Double)
        case atMost(Double)
    }

    var name: String
    var value: Double
    var unit: String
    var goal: Goal?
    /// The number of samples and their duration.
    var note: String

    init(_ name: String, _ value: Double, _ unit: String, goal: Goal? = nil, note: String = "") {
        self.name = name
        self.value = value
        self.unit = unit
        self.goal = goal
        self.note = note
    }

    /// Nil without a goal.
    var isMet: Bool? {
        switch goal {
        case nil: nil
        case .atLeast(let min): value >= min
        case .atMost(let max): value <= max
        }
    }

    var text: String {
        let digits = value.magnitude >= 100 ? 0 : value.magnitude >= 10 ? 1 : 2
        let number = digits == 0 ? Figures.grouped(Int64(value.rounded())) : Figures.decimal(value, digits: digits)
        return "\(number) \(unit)"
    }

    var verdict: String {
        let mark: String =
            switch goal {
            case nil: ""
            case .atLeast(let min): "\(isMet == true ? "ok" : "MISSED") (≥ \(Self.short(min)))  "
            case .atMost(let max): "\(isMet == true ? "ok" : "MISSED") (≤ \(Self.short(max)))  "
            }
        return mark + note
    }

    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("name", .string(name)), .init("value", .number(value)), .init("unit", .string(unit)),
        ]
        switch goal {
        case nil: break
        case .atLeast(let min): members.append(.init("atLeast", .number(min)))
        case .atMost(let max): members.append(.init("atMost", .number(max)))
        }
        members.append(.init("met", isMet.map { .bool($0) } ?? .null))
        members.append(.init("note", .string(note)))
        return .object(members)
    }

    private static func short(_ value: Double) -> String {
        value >= 1000 ? Figures.grouped(Int64(value)) : Figures.decimal(value, digits: value == value.rounded() ? 0 : 1)
    }

    /// The smallest value that is not below `share` of the values.
    static func percentile(_ share: Double, of values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return .nan }
        let rank = Int((share * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}

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
