/// When a schedule fires: a cron expression of 5 fields, of 6 with seconds first, a macro, or `@every 10m`.
///
/// The fields are minute, hour, day of the month, month and day of the week. Each is a list of `*`, `a`, `a-b`,
/// `*/n`, `a-b/n` and `a/n`. Months and days of the week have names in any case, and Sunday is 0 and 7. A day of
/// the month may be `L`, a day of the week `5L` (the last Friday) or `2#3` (the third Tuesday), and either `?`,
/// which is `*`. Where one of them begins with `*`, both must match; otherwise one is enough, as in Debian's cron.
package struct CronExpression: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case pattern(CronPattern)
        /// The milliseconds from slot to slot, counted from 1970-01-01T00:00:00Z.
        case every(Int64)
    }

    /// The expression as it was written.
    package let text: String
    let kind: Kind

    /// - Throws: ``CronExpressionError`` for a text that is not an expression, and for an expression that never
    ///   fires, for example on 30 February. The search for a day covers 50 years, because a 29 February of one
    ///   weekday comes after 40 years at the latest.
    package init(parsing text: String) throws(CronExpressionError) {
        kind = try CronExpressionParser(text).kind()
        self.text = text
    }

    /// Whether it fires in each hour, or at equal distances: the minute or the hour begins with `*`, or it is `@every`.
    package var isInterval: Bool {
        switch kind {
        case .pattern(let pattern): pattern.isInterval
        case .every: true
        }
    }

    /// The longest search for a match: 50 years in seconds.
    static let horizon: Int64 = 50 * 366 * 86_400
}

extension CronExpression: CustomStringConvertible {
    /// The expression as it was written.
    package var description: String { text }
}

/// Why and where a text is not a cron expression that fires.
package struct CronExpressionError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The whole expression.
    package var expression: String
    /// The offset of the problem: bytes of UTF-8 from the start of the expression, from 0.
    package var position: Int
    /// The problem and what to write instead, without expression and position.
    package var message: String

    /// One sentence with the position counted from 1: `cron expression “0 22-4 * * *”, byte 3: …`.
    package var description: String {
        "cron expression “\(String(decoding: expression.utf8.prefix(80), as: UTF8.self))”, byte \(position + 1): \(message)"
    }
}

/// The times of an expression, on segments of constant offset.
///
/// An interval expression fires at every instant whose local time matches. A fixed one fires at the end of a
/// gap, once, where the gap holds a match, and in a repeated stretch only in the first pass. These are the rules
/// of Debian's cron. Like there, a change of three hours or more is a correction of the zone: the new local time
/// holds at once, nothing is made up for, and nothing is held back.
extension CronExpression {
    /// The earliest time after `time` at which the expression fires.
    /// - Returns: a whole second; nil where there is none within 50 years or within the range of ``Timestamp``.
    package func next(after time: Timestamp, in zone: TimeZoneOffsets) -> Timestamp? {
        switch kind {
        case .every(let period):
            let slot = time.milliseconds.dividedRoundingDown(by: period) + 1
            return Timestamp(slot: slot, of: period)
        case .pattern(let pattern):
            return pattern.next(from: time.milliseconds.dividedRoundingDown(by: 1000) + 1, in: zone)
                .flatMap { Timestamp(slot: $0, of: 1000) }
        }
    }

    /// The latest time up to and including `time` at which the expression fires. The search starts at `time`, so
    /// that its cost does not grow with the number of earlier times.
    /// - Returns: as in ``next(after:in:)``.
    package func previous(atOrBefore time: Timestamp, in zone: TimeZoneOffsets) -> Timestamp? {
        switch kind {
        case .every(let period):
            return Timestamp(slot: time.milliseconds.dividedRoundingDown(by: period), of: period)
        case .pattern(let pattern):
            return pattern.previous(through: time.milliseconds.dividedRoundingDown(by: 1000), in: zone)
                .flatMap { Timestamp(slot: $0, of: 1000) }
        }
    }

    /// The latest time before `time` at which the expression fires.
    /// - Returns: as in ``next(after:in:)``.
    package func previous(before time: Timestamp, in zone: TimeZoneOffsets) -> Timestamp? {
        guard time.milliseconds > .min else { return nil }
        return previous(atOrBefore: Timestamp(milliseconds: time.milliseconds - 1), in: zone)
    }
}

extension CronPattern {
    /// - Parameter instant: in seconds from 1970-01-01T00:00:00Z; the first that may be the result.
    fileprivate func next(from instant: Int64, in zone: TimeZoneOffsets) -> Int64? {
        let limit = instant + CronExpression.horizon
        var instant = instant
        while instant < limit {
            let segment = zone.segment(at: instant)
            if instant == segment.start, firesAtStart(of: segment) { return instant }
            let start = max(instant + segment.offset, firstFresh(of: segment) ?? .min)
            let end = min(segment.end, limit)
            if let local = first(from: start, before: end + segment.offset) { return local - segment.offset }
            instant = end
        }
        return nil
    }

    /// - Parameter instant: in seconds from 1970-01-01T00:00:00Z; the last that may be the result.
    fileprivate func previous(through instant: Int64, in zone: TimeZoneOffsets) -> Int64? {
        let limit = instant - CronExpression.horizon
        var instant = instant
        while instant > limit {
            let segment = zone.segment(at: instant)
            let start = max(segment.start, limit)
            let local = last(
                from: max(start + segment.offset, firstFresh(of: segment) ?? .min), through: instant + segment.offset)
            if let local { return local - segment.offset }
            if segment.start > limit, firesAtStart(of: segment) { return segment.start }
            instant = start - 1
        }
        return nil
    }

    /// Whether a fixed expression has a match among the local times that the start of the segment skips.
    func firesAtStart(of segment: TimeZoneSegment) -> Bool {
        guard !isInterval, segment.change > 0, !segment.isCorrection else { return false }
        let gapStart = segment.start + segment.previousOffset
        return first(from: gapStart, before: segment.start + segment.offset) != nil
    }

    /// The first local time of the segment that is not a repetition, for a fixed expression; nil where none is.
    func firstFresh(of segment: TimeZoneSegment) -> Int64? {
        guard !isInterval, segment.change < 0, !segment.isCorrection else { return nil }
        return segment.start + segment.previousOffset
    }
}

extension TimeZoneSegment {
    /// Three hours or more, the limit of Debian's cron for changes that daylight saving explains.
    fileprivate var isCorrection: Bool { abs(change) >= 3 * 3600 }
}

extension Timestamp {
    /// The start of a slot; nil beyond the range of the type.
    /// - Parameter period: in milliseconds.
    fileprivate init?(slot: Int64, of period: Int64) {
        let (milliseconds, overflow) = slot.multipliedReportingOverflow(by: period)
        guard !overflow else { return nil }
        self.init(milliseconds: milliseconds)
    }
}

extension CronExpression {
    /// The number of times after `start`, up to and including `end`, at which the expression fires.
    ///
    /// The cost grows with the months and the changes of the zone's offset between the two, not with the number
    /// of times. An expression of fields is counted over the last 50 years before `end` at most.
    package func count(after start: Timestamp, through end: Timestamp, in zone: TimeZoneOffsets) -> Int {
        guard start < end else { return 0 }
        switch kind {
        case .every(let period):
            return Int(
                end.milliseconds.dividedRoundingDown(by: period) - start.milliseconds.dividedRoundingDown(by: period))
        case .pattern(let pattern):
            let last = end.milliseconds.dividedRoundingDown(by: 1000)
            let first = max(start.milliseconds.dividedRoundingDown(by: 1000) + 1, last - Self.horizon)
            return Int(pattern.count(from: first, through: last, in: zone))
        }
    }
}

extension CronPattern {
    /// The number of instants in a range at which the expression fires, by the rules of ``CronExpression``.
    /// - Parameters: seconds from 1970-01-01T00:00:00Z.
    fileprivate func count(from first: Int64, through last: Int64, in zone: TimeZoneOffsets) -> Int64 {
        var (instant, sum): (Int64, Int64) = (first, 0)
        while instant <= last {
            let segment = zone.segment(at: instant)
            if instant == segment.start, firesAtStart(of: segment) {
                sum += 1
                instant += 1
            }
            let end = min(segment.end - 1, last)
            let start = max(instant + segment.offset, firstFresh(of: segment) ?? .min)
            sum += count(from: start, through: end + segment.offset)
            instant = end + 1
        }
        return sum
    }

    /// The number of matching local times from `start` on and up to and including `end`.
    func count(from start: Int64, through end: Int64) -> Int64 {
        guard start <= end else { return 0 }
        let (firstDay, lastDay) = (start.dividedRoundingDown(by: 86_400), end.dividedRoundingDown(by: 86_400))
        let all = timesOfDay(before: 86_400)
        var sum = countDays(firstDay...lastDay) * all
        if countDays(firstDay...firstDay) > 0 { sum -= timesOfDay(before: start - firstDay * 86_400) }
        if countDays(lastDay...lastDay) > 0 { sum -= all - timesOfDay(before: end - lastDay * 86_400 + 1) }
        return sum
    }

    /// The number of matching days, month by month.
    /// - Parameter range: days from 1970-01-01.
    private func countDays(_ range: ClosedRange<Int64>) -> Int64 {
        var (year, month, day) = CivilDate.date(days: range.lowerBound)
        var monthStart = range.lowerBound - (day - 1)
        var sum: Int64 = 0
        while monthStart <= range.upperBound {
            let length = CivilDate.daysInMonth(month, of: year)
            if months & 1 << UInt64(month) != 0 {
                let lastDay = min(length, range.upperBound - monthStart + 1)
                let matches = days.days(monthStart: monthStart, length: length)
                sum += matches.count(below: lastDay + 1) - matches.count(below: day)
            }
            monthStart += length
            day = 1
            (year, month) = month == 12 ? (year + 1, 1) : (year, month + 1)
        }
        return sum
    }

    /// The number of matching times of a day before a second of it, from 0 to 86,400.
    private func timesOfDay(before time: Int64) -> Int64 {
        let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60)
        let perMinute = seconds.count(below: 60)
        var sum = hours.count(below: hour) * minutes.count(below: 60) * perMinute
        if hour < 24, hours & 1 << UInt64(hour) != 0 {
            sum += minutes.count(below: minute) * perMinute
            if minutes & 1 << UInt64(minute) != 0 { sum += seconds.count(below: second) }
        }
        return sum
    }
}

extension UInt64 {
    /// The number of set bits below the bit `end`, which is from 0 to 63.
    fileprivate func count(below end: Int64) -> Int64 { Int64((self & (1 << UInt64(end) - 1)).nonzeroBitCount) }
}
