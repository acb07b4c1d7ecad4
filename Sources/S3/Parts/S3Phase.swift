/// How far a multipart upload has come.
enum S3Phase: String, Sendable, CaseIterable {
    /// No multipart upload is known to exist.
    case planned
    /// The upload exists, and parts are sent.
    case initiated
    /// All parts are acknowledged, and the completion may have been sent.
    case completing
    /// The upload is given up; its parts are to be deleted.
    case aborting
}
