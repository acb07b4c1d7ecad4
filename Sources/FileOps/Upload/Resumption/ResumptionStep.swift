internal import HTTPClient

/// The next step of a resumable upload, decided by ``Resumption``.
enum ResumptionStep: Sendable {
    /// Create the upload at the destination.
    case create
    /// Query how many bytes the destination holds.
    case locate
    /// Send these bytes of the file.
    case append(Range<Int64>)
    /// Query whether the destination holds every byte.
    case confirm
    /// Wait, then ``locate``.
    case pause(Duration)
    /// The destination holds every byte, according to this answer.
    case finish(HTTPRecord)
    /// The destination takes the file in one request only.
    /// - isOurs: this upload has created the target.
    case sendWhole(isOurs: Bool)
    case fail(any Error)
}
