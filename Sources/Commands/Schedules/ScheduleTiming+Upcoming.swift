extension ScheduleTiming {
    /// The next times after `time`, also of a paused schedule.
    /// - Parameter count: from 0 to 1,000; a larger number counts as 1,000.
    /// - Throws: ``TimeZoneError`` where the zone is missing.
    package func upcoming(_ count: Int, after time: Timestamp) throws(TimeZoneError) -> [UpcomingTime] {
        let zone = try zone.get()
        var (times, time): ([UpcomingTime], Timestamp) = ([], time)
        while times.count < min(count, 1000), let next = definition.expression.next(after: time, in: zone) {
            let second = next.milliseconds.dividedRoundingDown(by: 1000)
            let segment = zone.segment(at: second)
            let missing = definition.expression.missingLocalTime(at: second, segment)
            times.append(
                UpcomingTime(
                    time: ScheduledTime(nominal: next, notBefore: notBefore(of: next, in: zone)),
                    offset: segment.offset, note: missing.map { "\($0) does not exist that day" }))
            time = next
        }
        return times
    }
}

extension CronExpression {
    /// The first local time of a gap for which the expression fires at the end of the gap: `02:30`, or `02:30:15`.
    fileprivate func missingLocalTime(at second: Int64, _ segment: TimeZoneSegment) -> String? {
        guard case .pattern(let pattern) = kind, second == segment.start, pattern.firesAtStart(of: segment),
            let local = pattern.first(from: second + segment.previousOffset, before: second + segment.offset)
        else { return nil }
        let time = local - local.dividedRoundingDown(by: 86_400) * 86_400
        func digits(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let text = "\(digits(time / 3600)):\(digits(time / 60 % 60))"
        return time % 60 == 0 ? text : "\(text):\(digits(time % 60))"
    }
}
