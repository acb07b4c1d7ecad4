/// A change of a zone's offset from UTC.
struct TimeZoneChange: Hashable, Sendable {
    /// Seconds from 1970-01-01T00:00:00Z.
    var instant: Int64
    /// The offset from ``instant`` on, in seconds east of Greenwich.
    var offset: Int64
}
