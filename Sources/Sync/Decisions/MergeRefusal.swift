/// Why a record cannot be merged; the whole sync is refused.
enum MergeRefusal: Error, Sendable, Equatable {
    /// One version is a number, the other a date.
    case incomparable(RecordVersion, RecordVersion)

    var reason: String {
        switch self {
        case .incomparable(let remote, let local):
            "the version \(remote.stored) cannot be compared with \(local.stored) of the row that was changed here: "
                + "one is a number, the other a date; correct “version”, or choose “merge” remote or local"
        }
    }
}
