/// A request of an `s3`, or of a download from S3.
package enum S3Step: Sendable, Equatable {
    case create
    case part(Int)
    case complete
    /// One PutObject, or the PUT of a presigned URL.
    case put
    case abort
    case listParts
    case listUploads
    case head
    case get

    /// Whether the request makes the object, so that an unclear answer leaves it unclear whether it exists.
    var makesObject: Bool { self == .complete || self == .put }

    /// Whether the request names a multipart upload.
    var needsUpload: Bool {
        switch self {
        case .part, .complete, .listParts: true
        case .create, .put, .abort, .listUploads, .head, .get: false
        }
    }
}
