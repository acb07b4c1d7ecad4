import Commands
import TestSupport

/// Random expressions, zones and instants for the tests of schedules.
struct CronCases {
    var random: SeededRandom
    let zones: [TimeZoneOffsets]

    /// 1972-03-01 to 2100 in Unix seconds. In January 1972 Liberia gave up the last offset that was not of whole
    /// minutes, which neither cronsim nor a clock that ticks each minute can follow.
    static let period: Range<Int> = 68_256_000..<4_102_444_800

    init(_ test: String, zones: [TimeZoneOffsets] = MachineZones.all) {
        random = .announced(test)
        self.zones = zones
    }

    /// An expression that cronsim reads too.
    mutating func expression(fields: Int = 5) -> String {
        let texts = [
            field(0...59), field(0...59), field(0...23), random.chance(0.15) ? "L" : field(1...31, starChance: 0.5),
            field(1...12, starChance: 0.7, names: Self.months), dayOfWeek(),
        ]
        return texts.suffix(fields).joined(separator: " ")
    }

    mutating func zone() -> TimeZoneOffsets { zones[random.number(in: 0..<zones.count)] }

    /// An instant of ``period`` in Unix seconds, often within a day of a change of the zone.
    mutating func instant(in zone: TimeZoneOffsets) -> Int64 {
        let instant = Int64(random.number(in: Self.period))
        guard random.chance(0.7) else { return instant }
        let change = zone.segment(at: instant).end
        guard change < Self.period.upperBound else { return instant }
        return max(Int64(Self.period.lowerBound), change + Int64(random.number(in: -86_400..<14_400)))
    }

    private mutating func field(_ range: ClosedRange<Int>, starChance: Double = 0.25, names: [String] = []) -> String {
        if random.chance(starChance) { return "*" }
        return (0..<(random.chance(0.7) ? 1 : random.number(in: 2..<4))).map { _ in item(range, names) }
            .joined(separator: ",")
    }

    private mutating func item(_ range: ClosedRange<Int>, _ names: [String]) -> String {
        let low = Int.random(in: range, using: &random)
        let high = Int.random(in: range, using: &random)
        func text(_ value: Int) -> String {
            names.isEmpty || value % 2 == 0 ? "\(value)" : names[value - range.lowerBound]
        }
        let step = random.number(in: 1..<range.count + 1)
        switch random.number(in: 0..<8) {
        case 0: return "*/\(step)"
        case 1: return "\(text(min(low, high)))-\(text(max(low, high)))"
        // cronsim reads “5-5/2” like “5/2”.
        case 2 where low != high: return "\(text(min(low, high)))-\(text(max(low, high)))/\(step)"
        case 3: return "\(text(low))/\(step)"
        default: return text(low)
        }
    }

    private mutating func dayOfWeek() -> String {
        switch random.number(in: 0..<8) {
        case 0: "\(random.number(in: 0..<8))L"
        case 1: "\(random.number(in: 0..<8))#\(random.number(in: 1..<6))"
        case 2: "MON-FRI"
        case 3: field(0...6, starChance: 0, names: Self.days)
        default: "*"
        }
    }

    private static let months = ["JAN", "feb", "MAR", "APR", "MAY", "Jun", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
    private static let days = ["SUN", "MON", "tue", "WED", "THU", "Fri", "SAT"]
}
