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
