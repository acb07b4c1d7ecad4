internal import HTTPClient

/// What ``Resumption`` orders next.
enum ResumptionStep: Sendable {
    /// Make the upload at the destination.
    case begin
    /// Ask how many bytes the destination holds.
    case locate
    /// Send these bytes of the file.
    case append(Range<Int64>)
    /// Ask whether the destination holds every byte.
    case confirm
    /// Wait, then ``locate``.
    case pause(Duration)
    /// The destination holds every byte, says this answer.
    case finish(HTTPRecord)
    /// The destination takes the file in one request only.
    /// - isOurs: the target is there, made by this upload.
    case sendWhole(isOurs: Bool)
    case fail(any Error)
}
