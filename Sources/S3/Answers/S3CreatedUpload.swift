internal import Commands

/// The answer to CreateMultipartUpload.
struct S3CreatedUpload: Sendable, Equatable {
    var id: String
    /// When the bucket's lifecycle deletes the upload; nil where no rule does.
    var abortDate: Timestamp?
}
