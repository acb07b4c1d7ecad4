/// One of the six fields of a cron expression, in their order.
enum CronField: Int, CaseIterable, Sendable {
    case second, minute, hour, dayOfMonth, month, dayOfWeek

    /// The values that the field accepts. The week begins with Sunday, which is 0 and 7.
    var range: ClosedRange<Int> {
        switch self {
        case .second, .minute: 0...59
        case .hour: 0...23
        case .dayOfMonth: 1...31
        case .month: 1...12
        case .dayOfWeek: 0...7
        }
    }

    /// The largest step: the number of different values. A larger one would match the first value alone.
    var maxStep: Int { self == .dayOfWeek ? 7 : range.count }

    /// Whether the field may hold `?`.
    var isDay: Bool { self == .dayOfMonth || self == .dayOfWeek }

    /// The singular, for errors.
    var noun: String {
        switch self {
        case .second: "second"
        case .minute: "minute"
        case .hour: "hour"
        case .dayOfMonth: "day of the month"
        case .month: "month"
        case .dayOfWeek: "day of the week"
        }
    }

    /// The accepted values as words that follow “use”.
    var accepted: String {
        switch self {
        case .second, .minute, .hour, .dayOfMonth: "\(range.lowerBound) to \(range.upperBound)"
        case .month: "1 to 12, or JAN to DEC"
        case .dayOfWeek: "0 to 7, or SUN to SAT"
        }
    }

    /// The value of a name of three letters in any case; nil for another word, and in fields without names.
    func value(named letters: some Sequence<UInt8>) -> Int? {
        let word = String(decoding: letters.map { $0 & ~0x20 }, as: UTF8.self)
        switch self {
        case .second, .minute, .hour, .dayOfMonth: return nil
        case .month: return Self.months.firstIndex(of: word).map { $0 + 1 }
        case .dayOfWeek: return Self.daysOfWeek.firstIndex(of: word)
        }
    }

    private static let months = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
    private static let daysOfWeek = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
}
