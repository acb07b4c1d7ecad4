internal import Commands
internal import HTTPClient

/// The answer of a destination to a step of a resumable upload, as read by an ``UploadDialect``.
enum ResumptionAnswer: Sendable {
    /// The destination holds this many bytes from the start.
    case holds(Int64, HTTPRecord)
    /// The destination took the bytes; the new offset is unknown.
    case unconfirmed
    /// The upload does not exist: 404, 410.
    case vanished
    /// The target is another file.
    case foreign
    /// The destination refuses the offset. A query may return another one. With the same offset again, the
    /// upload ends with this failure; nil: it is tried again.
    case refusesOffset((any Error)?)
    /// Another request has locked the upload (423), usually one over a broken connection.
    case locked(any Error)
    /// The request was too large (413).
    case tooLarge(any Error)
    /// A kept connection ended during the request. It may have been closed before the request arrived.
    /// - sent: the offset in the file up to which bytes have left.
    case lostConnection(any Error, sent: Int64)
    /// A server error, or no answer, after the last byte of the file: the destination may have processed the upload.
    case failedAtEnd(CommandFailure)
    /// The destination takes the file in one request only.
    /// - isOurs: this upload has created the target.
    case takesWholeOnly(isOurs: Bool)
    case failed(any Error)
}
