/// Where the name of the bucket stands.
package enum S3Addressing: String, Sendable {
    /// `https://endpoint/bucket/key`
    case path
    /// `https://bucket.endpoint/key`
    case virtual
}
