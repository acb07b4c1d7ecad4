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
