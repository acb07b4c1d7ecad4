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
