/// Reads one field of a cron expression: a list of `*`, `a`, `a-b`, each with `/n`, and `L`, `5L` and `2#3`.
struct CronFieldParser {
    private let field: CronField
    private let expression: String
    /// The bytes of the whole expression, so that positions in errors count from its start.
    private let bytes: [UInt8]
    private let fieldStart: Int
    private let end: Int
    private var position: Int
    private var result = CronFieldValues()

    /// - Parameter range: the positions of the field in `bytes`; not empty.
    init(_ field: CronField, of expression: String, _ bytes: [UInt8], in range: Range<Int>) {
        self.field = field
        self.expression = expression
        self.bytes = bytes
        fieldStart = range.lowerBound
        end = range.upperBound
        position = range.lowerBound
    }

    mutating func values() throws(CronExpressionError) -> CronFieldValues {
        repeat { try parseItem() } while take(",")
        guard position == end else { throw unexpected(at: position) }
        if field == .dayOfWeek, result.values & 1 << 7 != 0 { result.values = result.values & 0x7F | 1 }
        return result
    }

    private mutating func parseItem() throws(CronExpressionError) {
        let start = position
        if take("*") || field.isDay && take("?") {
            if start == fieldStart { result.startsWithStar = true }
            return insert(field.range, by: try step(from: start) ?? 1)
        }
        if field == .dayOfMonth, take("L") {
            result.hasLastDay = true
            return
        }
        let first = try value()
        if field == .dayOfWeek {
            if take("L") {
                result.lastOccurrences |= 1 << UInt64(first % 7)
                return
            }
            if take("#") {
                let occurrence = number()
                guard let occurrence, (1...5).contains(occurrence) else {
                    throw error(
                        start,
                        "“\(token(at: start))” needs a week from 1 to 5 after “#”; write “2#3” for the third Tuesday")
                }
                result.occurrences |= 1 << UInt64(8 * (occurrence - 1) + first % 7)
                return
            }
        }
        var last = first
        if take("-") {
            last = try value()
            guard first <= last else { throw reversed(first, last, at: start) }
            insert(first...last, by: try step(from: start) ?? 1)
        } else if let step = try step(from: start) {
            insert(first...field.range.upperBound, by: step)
        } else {
            insert(first...first, by: 1)
        }
    }

    private mutating func insert(_ range: ClosedRange<Int>, by step: Int) {
        for value in stride(from: range.lowerBound, through: range.upperBound, by: step) {
            result.values |= 1 << UInt64(value)
        }
    }

    /// The number after `/`; nil without one.
    private mutating func step(from start: Int) throws(CronExpressionError) -> Int? {
        guard take("/") else { return nil }
        let step = number()
        guard let step, (1...field.maxStep).contains(step) else {
            throw error(
                start,
                "the step of “\(token(at: start))” is not from 1 to \(field.maxStep); write “*/5” for every fifth \(field.noun)"
            )
        }
        return step
    }

    private mutating func value() throws(CronExpressionError) -> Int {
        let start = position
        if let number = number() {
            guard field.range.contains(number) else {
                throw error(start, "the \(field.noun) \(text(start..<position)) is out of range; use \(field.accepted)")
            }
            return number
        }
        if position + 3 <= end, let named = field.value(named: bytes[position..<position + 3]) {
            position += 3
            return named
        }
        throw unexpected(at: start)
    }

    /// The number at the position, at most 9,999; nil without a digit.
    private mutating func number() -> Int? {
        let start = position
        var value = 0
        while position < end, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) {
            value = min(value * 10 + Int(bytes[position] - UInt8(ascii: "0")), 9999)
            position += 1
        }
        return position > start ? value : nil
    }

    /// Skips a character; letters match in any case.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < end else { return false }
        let (found, expected) = (bytes[position], UInt8(ascii: character))
        let isLetter = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(expected)
        guard found == expected || isLetter && found == expected | 0x20 else { return false }
        position += 1
        return true
    }
}

extension CronFieldParser {
    private func error(_ position: Int, _ message: String) -> CronExpressionError {
        CronExpressionError(expression: expression, position: position, message: message)
    }

    private func text(_ range: Range<Int>) -> String {
        let shown = range.prefix(40)
        return String(decoding: bytes[shown.startIndex..<shown.endIndex], as: UTF8.self)
    }

    /// The item of the list that holds the position, up to the next comma.
    private func token(at position: Int) -> String {
        let start = bytes[fieldStart..<position].lastIndex(of: UInt8(ascii: ",")).map { $0 + 1 } ?? fieldStart
        let end = bytes[position..<end].firstIndex(of: UInt8(ascii: ",")) ?? end
        return text(start..<end)
    }

    private func reversed(_ first: Int, _ last: Int, at start: Int) -> CronExpressionError {
        let range = field.range
        let instead =
            field == .dayOfWeek && last == 0 ? "\(first)-7" : "\(first)-\(range.upperBound),\(range.lowerBound)-\(last)"
        return error(start, "the range “\(token(at: start))” of the \(field.noun) runs backwards; write “\(instead)”")
    }

    private func unexpected(at position: Int) -> CronExpressionError {
        let token = token(at: position)
        let letter = position < end ? bytes[position] & ~0x20 : 0
        if token.isEmpty {
            return error(position, "the \(field.noun) is missing; use \(field.accepted)")
        }
        if field.isDay, letter == UInt8(ascii: "W") {
            return error(
                position,
                "“W” (the nearest weekday) is not supported; name the days, for example 1-5 as days of the week")
        }
        if field == .dayOfWeek, letter == UInt8(ascii: "L") {
            return error(position, "“L” needs a day of the week before it; write “5L” for the last Friday of the month")
        }
        if field == .dayOfMonth, position > fieldStart, bytes[position - 1] & ~0x20 == UInt8(ascii: "L") {
            return error(position, "“\(token)” is not supported; write “L” alone for the last day of the month")
        }
        return error(
            position,
            "cannot read the \(field.noun) “\(token)”; use \(field.accepted), “*”, lists, “a-b” and “*/n”")
    }
}

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

/// The values that one field of a cron expression matches.
struct CronFieldValues: Hashable, Sendable {
    /// Bit n: the value n. In the field of weekdays, bit 0 is Sunday and bit 7 is unused.
    var values: UInt64 = 0
    /// Whether the field begins with `*`, or with `?`, which means the same.
    var startsWithStar = false
    /// `L` in the field of days: the last day of the month.
    var hasLastDay = false
    /// `2#3`: bit 8 · (n − 1) + weekday for the n-th such weekday of a month, n from 1 to 5.
    var occurrences: UInt64 = 0
    /// `5L`: bit n for the last such weekday of a month.
    var lastOccurrences: UInt64 = 0
}
