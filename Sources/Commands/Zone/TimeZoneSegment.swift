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
