/// The offsets of a time zone from UTC at all times.
package struct TimeZoneOffsets: Hashable, Sendable {
    /// An IANA name, for example `Europe/Berlin`.
    package let name: String
    /// The changes of the offset in rising order, each to another offset.
    private let changes: [TimeZoneChange]
    /// The offset before the first change.
    private let firstOffset: Int64
    /// From here on the offsets are those of 400 years before; nil where no change recurs for ever.
    private let cycleStart: Int64?

    /// The zone UTC, which needs no file.
    package static let utc = TimeZoneOffsets(name: "UTC", firstOffset: 0, changes: [], rule: nil)

    /// - Parameters:
    ///   - changes: the known changes, in rising order.
    ///   - rule: the changes after the known ones, and all of them where none is known (RFC 9636, section 3.3);
    ///     nil where the last known offset holds for ever.
    init(name: String, firstOffset: Int64, changes: [TimeZoneChange], rule: PosixTimeZoneRule?) {
        self.name = name
        var (all, cycleStart): ([TimeZoneChange], Int64?) = (changes, nil)
        let last = changes.last?.instant ?? Self.yearOne
        if let rule {
            let firstYear = CivilDate.date(days: last.dividedRoundingDown(by: 86_400)).year - 1
            // The last year is left out: the start of the next one may cancel its last change.
            let end = CivilDate.days(year: firstYear + 412, month: 1, day: 1) * 86_400
            all += rule.changes(inYears: firstYear...(firstYear + 412)).filter { $0.instant > last && $0.instant < end }
            if rule.daylight == nil {
                all.append(TimeZoneChange(instant: last + 1, offset: rule.standardOffset))
            } else {
                cycleStart = CivilDate.days(year: firstYear + 404, month: 1, day: 1) * 86_400
            }
        }
        let first = changes.isEmpty ? rule?.standardOffset ?? firstOffset : firstOffset
        var current = first
        self.firstOffset = first
        self.changes = all.filter { change in
            defer { current = change.offset }
            return change.offset != current
        }
        // Nothing recurs under a rule whose daylight saving time lasts for the whole year.
        let recurs = self.changes.last.map { $0.instant - last > Self.cycle / 2 } ?? false
        self.cycleStart = recurs ? cycleStart : nil
    }

    /// The offset at an instant.
    /// - Parameter instant: in seconds from 1970-01-01T00:00:00Z.
    package func offset(at instant: Int64) -> Int64 { segment(at: instant).offset }

    /// The segment that holds an instant.
    /// - Parameter instant: in seconds from 1970-01-01T00:00:00Z.
    package func segment(at instant: Int64) -> TimeZoneSegment {
        guard let cycleStart, instant >= cycleStart else { return knownSegment(at: instant) }
        let shift = ((instant - cycleStart) / Self.cycle + 1) * Self.cycle
        var segment = knownSegment(at: instant - shift)
        if segment.start > .min { segment.start += shift }
        if segment.end < .max { segment.end += shift }
        return segment
    }

    /// 400 years of the Gregorian calendar in seconds. They are 20,871 weeks, so that a rule recurs exactly.
    private static let cycle: Int64 = 146_097 * 86_400

    /// 0001-01-01T00:00:00Z, where a rule begins that follows no known change.
    private static let yearOne: Int64 = -62_135_596_800

    private func knownSegment(at instant: Int64) -> TimeZoneSegment {
        // The number of changes up to and including the instant.
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].instant <= instant { low = middle + 1 } else { high = middle }
        }
        let end = low < changes.count ? changes[low].instant : .max
        guard low > 0 else {
            return TimeZoneSegment(start: .min, end: end, offset: firstOffset, previousOffset: firstOffset)
        }
        let change = changes[low - 1]
        let previous = low > 1 ? changes[low - 2].offset : firstOffset
        return TimeZoneSegment(start: change.instant, end: end, offset: change.offset, previousOffset: previous)
    }
}

/// A stretch of time in which a zone has one offset from UTC.
package struct TimeZoneSegment: Hashable, Sendable {
    /// The first second, from 1970-01-01T00:00:00Z; `Int64.min` where the zone has always had the offset.
    package var start: Int64
    /// The first second of the next segment; `Int64.max` where none follows.
    package var end: Int64
    /// Seconds to add to UTC for the local time; positive east of Greenwich.
    package var offset: Int64
    /// The offset before ``start``; ``offset`` where there is no earlier segment.
    package var previousOffset: Int64

    /// The seconds by which the local clock is put forward at ``start``; negative where it is put back.
    package var change: Int64 { offset - previousOffset }
}
