/// The rule of a zone for all years, from the footer of its file: `CET-1CEST,M3.5.0,M10.5.0/3`.
///
/// The form is the one of the variable `TZ` (POSIX.1-2024, section 8.3) with hours from -167 to 167 (RFC 9636,
/// section 3.3.2).
struct PosixTimeZoneRule: Hashable, Sendable {
    /// The time of the year at which an offset begins.
    struct Change: Hashable, Sendable {
        enum Day: Hashable, Sendable {
            /// `J60`: a day from 1 to 365, where 29 February is never counted.
            case withoutLeapDay(Int64)
            /// `59`: days after 1 January, from 0 to 365.
            case afterNewYear(Int64)
            /// `M3.5.0`: the n-th such weekday of a month, from 1 to 5; the fifth is the last. Sunday is 0.
            case weekday(month: Int64, occurrence: Int64, weekday: Int64)
        }

        var day: Day
        /// Seconds of local time after the start of the day; negative before it.
        var time: Int64

        /// Seconds of local time from 1970-01-01T00:00:00.
        func localTime(in year: Int64) -> Int64 { days(in: year) * 86_400 + time }

        private func days(in year: Int64) -> Int64 {
            switch day {
            case .withoutLeapDay(let number):
                let isAfterLeapDay = number >= 60 && CivilDate.daysInMonth(2, of: year) == 29
                return CivilDate.days(year: year, month: 1, day: 1) + number - (isAfterLeapDay ? 0 : 1)
            case .afterNewYear(let number):
                return CivilDate.days(year: year, month: 1, day: 1) + number
            case .weekday(let month, let occurrence, let weekday):
                let first = CivilDate.days(year: year, month: month, day: 1)
                let firstWeekday = first + 4 - (first + 4).dividedRoundingDown(by: 7) * 7
                let day = (weekday - firstWeekday + 7) % 7 + (occurrence - 1) * 7
                return first + (day < CivilDate.daysInMonth(month, of: year) ? day : day - 7)
            }
        }
    }

    struct Daylight: Hashable, Sendable {
        /// Seconds east of Greenwich; less than the standard offset in Ireland's winter.
        var offset: Int64
        /// In standard time.
        var start: Change
        /// In daylight saving time.
        var end: Change
    }

    /// Seconds east of Greenwich.
    var standardOffset: Int64
    var daylight: Daylight?

    /// The changes of the offset in rising order, some of them to the offset that already holds.
    func changes(inYears years: ClosedRange<Int64>) -> [TimeZoneChange] {
        guard let daylight else { return [] }
        var changes: [TimeZoneChange] = []
        for year in years {
            let start = daylight.start.localTime(in: year) - standardOffset
            let end = daylight.end.localTime(in: year) - daylight.offset
            changes.append(TimeZoneChange(instant: start, offset: daylight.offset))
            changes.append(TimeZoneChange(instant: end, offset: standardOffset))
        }
        // Daylight time of a whole year ends at the instant at which that of the next year starts, which wins.
        let sorted = changes.enumerated().sorted {
            ($0.element.instant, $0.offset) < ($1.element.instant, $1.offset)
        }.map(\.element)
        return sorted.indices.filter { $0 + 1 == sorted.count || sorted[$0 + 1].instant > sorted[$0].instant }
            .map { sorted[$0] }
    }
}

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

/// A change of a zone's offset from UTC.
struct TimeZoneChange: Hashable, Sendable {
    /// Seconds from 1970-01-01T00:00:00Z.
    var instant: Int64
    /// The offset from ``instant`` on, in seconds east of Greenwich.
    var offset: Int64
}
