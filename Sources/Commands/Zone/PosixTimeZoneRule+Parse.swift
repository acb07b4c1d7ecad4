extension PosixTimeZoneRule {
    /// Reads the form of the variable `TZ`; nil for another text. A rule of daylight time needs its two dates.
    init?(parsing text: some Collection<UInt8>) {
        var parser = PosixTimeZoneRuleParser(bytes: Array(text))
        guard let rule = parser.rule() else { return nil }
        self = rule
    }
}

/// Reads a rule from left to right. Each function returns nil for malformed text.
private struct PosixTimeZoneRuleParser {
    let bytes: [UInt8]
    var position = 0

    mutating func rule() -> PosixTimeZoneRule? {
        guard skipName(), let standard = time(maxHours: 24) else { return nil }
        guard position < bytes.count else { return PosixTimeZoneRule(standardOffset: -standard, daylight: nil) }
        guard skipName() else { return nil }
        // The offset counts west of Greenwich. Without one, daylight time is one hour ahead.
        var daylight = standard - 3600
        if position < bytes.count, bytes[position] != UInt8(ascii: ",") {
            guard let given = time(maxHours: 24) else { return nil }
            daylight = given
        }
        guard take(","), let start = change(), take(","), let end = change(), position == bytes.count else {
            return nil
        }
        return PosixTimeZoneRule(
            standardOffset: -standard,
            daylight: PosixTimeZoneRule.Daylight(offset: -daylight, start: start, end: end))
    }

    /// Skips `CET` or `<+0330>`.
    private mutating func skipName() -> Bool {
        let start = position
        if take("<") {
            while position < bytes.count, bytes[position] != UInt8(ascii: ">") { position += 1 }
            return take(">")
        }
        while position < bytes.count, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(bytes[position] | 0x20) {
            position += 1
        }
        return position > start
    }

    /// Seconds of `[+-]hh[:mm[:ss]]`.
    private mutating func time(maxHours: Int64) -> Int64? {
        let isNegative = take("-")
        if !isNegative { _ = take("+") }
        guard var seconds = number(0...maxHours).map({ $0 * 3600 }) else { return nil }
        if take(":") {
            guard let minutes = number(0...59) else { return nil }
            seconds += minutes * 60
            if take(":") {
                guard let rest = number(0...59) else { return nil }
                seconds += rest
            }
        }
        return isNegative ? -seconds : seconds
    }

    private mutating func change() -> PosixTimeZoneRule.Change? {
        guard let day = day() else { return nil }
        var time: Int64 = 2 * 3600
        if take("/") {
            guard let given = self.time(maxHours: 167) else { return nil }
            time = given
        }
        return PosixTimeZoneRule.Change(day: day, time: time)
    }

    private mutating func day() -> PosixTimeZoneRule.Change.Day? {
        if take("J") { return number(1...365).map { .withoutLeapDay($0) } }
        guard take("M") else { return number(0...365).map { .afterNewYear($0) } }
        guard let month = number(1...12), take("."), let occurrence = number(1...5), take("."),
            let weekday = number(0...6)
        else { return nil }
        return .weekday(month: month, occurrence: occurrence, weekday: weekday)
    }

    private mutating func number(_ range: ClosedRange<Int64>) -> Int64? {
        let start = position
        var value: Int64 = 0
        while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) {
            value = min(value * 10 + Int64(bytes[position] - UInt8(ascii: "0")), 9999)
            position += 1
        }
        return position > start && range.contains(value) ? value : nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }
}
