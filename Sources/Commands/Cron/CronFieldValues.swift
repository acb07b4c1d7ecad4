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
