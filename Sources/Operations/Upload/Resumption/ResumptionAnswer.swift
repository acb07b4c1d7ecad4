internal import Commands
internal import HTTPClient

/// What a destination answered to a step of a resumable upload, as an ``UploadDialect`` understood it.
enum ResumptionAnswer: Sendable {
    /// So many bytes from the start are there.
    case holds(Int64, HTTPRecord)
    /// The bytes were taken; the length that is there now is not known.
    case unconfirmed
    /// The upload is not there: 404, 410.
    case vanished
    /// Another file is there.
    case foreign
    /// The destination refuses the offset, and may name another one when it is asked.
    /// - failure: what it comes to where the same offset is named again; nil: another try.
    case refusesOffset((any Error)?)
    /// Another request holds the upload (423), mostly over a connection that was cut.
    case locked(any Error)
    /// The request was too large (413).
    case tooLarge(any Error)
    /// A kept connection ended in mid-request: it may have been closed before the request came.
    case lostConnection(any Error)
    /// A server error after the last byte of the file: the destination may have processed the upload.
    case failedAtEnd(CommandFailure)
    /// The destination takes the file in one request only.
    case takesWholeOnly(isOurs: Bool)
    case failed(any Error)
}
