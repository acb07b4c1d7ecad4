/// The local times that an expression of fields matches, as bit sets, without a time zone.
///
/// A local time is a number of seconds from 1970-01-01T00:00:00 on a clock without changes of its offset.
struct CronPattern: Hashable, Sendable {
    let seconds: UInt64
    let minutes: UInt64
    let hours: UInt64
    let days: CronDays
    /// Bit n: the month n, from 1.
    let months: UInt64
    /// Whether the minute or the hour begins with `*`: the expression fires at every instant with a matching
    /// local time. A *fixed* one fires once for a local time that is missing or repeated. The rule is the one
    /// of Debian's cron.
    let isInterval: Bool

    /// - Parameter fields: the values of the six fields in their order.
    init(_ fields: [CronField: CronFieldValues]) {
        func values(_ field: CronField) -> CronFieldValues { fields[field, default: CronFieldValues(values: 1)] }
        seconds = values(.second).values
        minutes = values(.minute).values
        hours = values(.hour).values
        months = values(.month).values
        days = CronDays(daysOfMonth: values(.dayOfMonth), daysOfWeek: values(.dayOfWeek))
        isInterval = values(.minute).startsWithStar || values(.hour).startsWithStar
    }

    /// The earliest match from `start` on and before `end`.
    func first(from start: Int64, before end: Int64) -> Int64? {
        guard start < end else { return nil }
        let today = start.dividedRoundingDown(by: 86_400)
        var (year, month, day) = CivilDate.date(days: today)
        var monthStart = today - (day - 1)
        while monthStart * 86_400 < end {
            let length = CivilDate.daysInMonth(month, of: year)
            if months & 1 << UInt64(month) != 0 {
                let matches = days.days(monthStart: monthStart, length: length)
                if matches & 1 << UInt64(day) != 0, monthStart + (day - 1) == today,
                    let time = time(from: start - today * 86_400)
                {
                    return today * 86_400 + time < end ? today * 86_400 + time : nil
                }
                // Today has no match any more; a later month is searched from its first day on.
                let isToday = monthStart + (day - 1) == today
                if let next = matches.bit(from: isToday ? day + 1 : day), let time = time(from: 0) {
                    let match = (monthStart + next - 1) * 86_400 + time
                    return match < end ? match : nil
                }
            }
            monthStart += length
            day = 1
            (year, month) = month == 12 ? (year + 1, 1) : (year, month + 1)
        }
        return nil
    }

    /// The latest match from `start` on and up to and including `end`.
    func last(from start: Int64, through end: Int64) -> Int64? {
        guard start <= end else { return nil }
        let today = end.dividedRoundingDown(by: 86_400)
        var (year, month, day) = CivilDate.date(days: today)
        var monthStart = today - (day - 1)
        var length = CivilDate.daysInMonth(month, of: year)
        while (monthStart + length) * 86_400 > start {
            if months & 1 << UInt64(month) != 0 {
                let matches = days.days(monthStart: monthStart, length: length)
                let isToday = monthStart + (day - 1) == today
                if isToday, matches & 1 << UInt64(day) != 0, let time = time(through: end - today * 86_400) {
                    return today * 86_400 + time >= start ? today * 86_400 + time : nil
                }
                if let next = matches.bit(through: isToday ? day - 1 : day), let time = time(through: 86_399) {
                    let match = (monthStart + next - 1) * 86_400 + time
                    return match >= start ? match : nil
                }
            }
            (year, month) = month == 1 ? (year - 1, 12) : (year, month - 1)
            length = CivilDate.daysInMonth(month, of: year)
            monthStart -= length
            day = length
        }
        return nil
    }

    /// The earliest matching second of a day from `start` on, from 0 to 86,399.
    private func time(from start: Int64) -> Int64? {
        let (hour, minute, second) = (start / 3600, start / 60 % 60, start % 60)
        guard let firstMinute = minutes.bit(from: 0), let firstSecond = seconds.bit(from: 0) else { return nil }
        if hours & 1 << UInt64(hour) != 0 {
            if minutes & 1 << UInt64(minute) != 0, let second = seconds.bit(from: second) {
                return hour * 3600 + minute * 60 + second
            }
            if let minute = minutes.bit(from: minute + 1) { return hour * 3600 + minute * 60 + firstSecond }
        }
        return hours.bit(from: hour + 1).map { $0 * 3600 + firstMinute * 60 + firstSecond }
    }

    /// The latest matching second of a day up to and including `end`.
    private func time(through end: Int64) -> Int64? {
        let (hour, minute, second) = (end / 3600, end / 60 % 60, end % 60)
        guard let lastMinute = minutes.bit(through: 63), let lastSecond = seconds.bit(through: 63) else { return nil }
        if hours & 1 << UInt64(hour) != 0 {
            if minutes & 1 << UInt64(minute) != 0, let second = seconds.bit(through: second) {
                return hour * 3600 + minute * 60 + second
            }
            if let minute = minutes.bit(through: minute - 1) { return hour * 3600 + minute * 60 + lastSecond }
        }
        return hours.bit(through: hour - 1).map { $0 * 3600 + lastMinute * 60 + lastSecond }
    }
}

extension UInt64 {
    /// The lowest set bit from number `start` on, which is not negative.
    func bit(from start: Int64) -> Int64? {
        let rest = start > 63 ? 0 : self & ~0 << UInt64(start)
        return rest == 0 ? nil : Int64(rest.trailingZeroBitCount)
    }

    /// The highest set bit up to and including number `end`, which is below 64.
    func bit(through end: Int64) -> Int64? {
        let rest = end < 0 ? 0 : self & ~0 >> UInt64(63 - end)
        return rest == 0 ? nil : Int64(63 - rest.leadingZeroBitCount)
    }
}

extension Int64 {
    /// The quotient, rounded towards negative infinity.
    /// - Parameter divisor: above 0.
    func dividedRoundingDown(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

/// The days that the two day fields of a cron expression match.
struct CronDays: Hashable, Sendable {
    private var daysOfMonth: CronFieldValues
    private var daysOfWeek: CronFieldValues
    /// Both fields must match where either begins with `*`; otherwise one is enough. The rule is the one of
    /// Debian's cron.
    private var needsBoth: Bool

    init(daysOfMonth: CronFieldValues, daysOfWeek: CronFieldValues) {
        self.daysOfMonth = daysOfMonth
        self.daysOfWeek = daysOfWeek
        needsBoth = daysOfMonth.startsWithStar || daysOfWeek.startsWithStar
    }

    /// The matching days of a month; bit n is the day n, from 1.
    /// - Parameters:
    ///   - monthStart: the first day of the month, in days from 1970-01-01.
    ///   - length: the number of its days.
    func days(monthStart: Int64, length: Int64) -> UInt64 {
        let month: UInt64 = (1 << UInt64(length + 1)) - 2
        let byDate = daysOfMonth.values | (daysOfMonth.hasLastDay ? 1 << UInt64(length) : 0)
        if daysOfWeek.startsWithStar && daysOfWeek.values == 0x7F { return byDate & month }

        // 1970-01-01 was a Thursday, which is 4.
        let weekday = UInt64(bitPattern: monthStart + 4 - (monthStart + 4).dividedRoundingDown(by: 7) * 7)
        var byWeekday: UInt64 = 0
        for week in UInt64(0)..<5 {
            let occurrences = daysOfWeek.values | daysOfWeek.occurrences >> (8 * week) & 0x7F
            byWeekday |= Self.week(occurrences, from: weekday) << (7 * week + 1)
        }
        if daysOfWeek.lastOccurrences != 0 {
            // The last seven days of the month.
            let first = UInt64(length) - 6
            byWeekday |= Self.week(daysOfWeek.lastOccurrences, from: (weekday + first - 1) % 7) << first
        }
        return (needsBoth ? byDate & byWeekday : byDate | byWeekday) & month
    }

    /// Seven bits of weekdays, turned so that bit 0 is `weekday`.
    private static func week(_ days: UInt64, from weekday: UInt64) -> UInt64 {
        (days >> weekday | days << (7 - weekday)) & 0x7F
    }
}
