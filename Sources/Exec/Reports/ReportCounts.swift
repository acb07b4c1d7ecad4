/// The part of the report channel that had no effect.
struct ReportCounts: Sendable, Equatable {
    /// Lines that are not a report.
    var garbageLines = 0
    /// Bytes beyond the limits of ``ReportReader``.
    var skippedBytes: Int64 = 0
    /// Values beyond its limits.
    var skippedValues = 0
}
