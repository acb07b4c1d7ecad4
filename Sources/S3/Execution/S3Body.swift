internal import Transfers

/// The body of a request to S3.
struct S3Body: Sendable {
    var content = HTTPTransfer.Body.none
    /// The bytes of the file that are the body; of a whole body their number counts.
    var range: Range<Int64> = 0..<0
    var hash = AWSPayloadHash.empty

    static let none = S3Body()
}
