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
