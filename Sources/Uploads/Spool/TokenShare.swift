internal import Host

/// The room and the number of the uploads of one token, which others do not have. Pure.
struct TokenShare: Sendable, Equatable {
    /// In the spool.
    var bytes: Int64 = 0
    /// Uploads that take bytes.
    var open = 0
    /// Creations of the minute from ``minute`` on that have brought no bytes yet.
    private var creations = 0
    private var minute: MonotonicTime?

    private static let minuteLength: Duration = .seconds(60)

    /// Counts a creation.
    mutating func create(_ limits: UploadLimits, now: MonotonicTime) throws(SpoolSpace.Refusal) {
        guard open < limits.maxTokenUploads else { throw .openUploads(max: limits.maxTokenUploads) }
        let begun = minute.flatMap { now - $0 < Self.minuteLength ? $0 : nil }
        if begun == nil { (minute, creations) = (now, 0) }
        guard creations < limits.maxTokenCreations else {
            throw .creations(max: limits.maxTokenCreations, wait: Self.minuteLength - (now - (begun ?? now)))
        }
        creations += 1
    }

    /// An upload has its first bytes: its creation was meant.
    mutating func broughtBytes() { creations = max(creations - 1, 0) }

    /// Whether nothing of it must be remembered.
    var isEmpty: Bool { bytes == 0 && open == 0 && creations == 0 }
}
