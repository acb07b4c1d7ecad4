internal import Commands
internal import Transfers

/// The stored form of a successful upload to S3:
/// `{"bucket", "key", "etag", "versionId", "size", "parts", "checksum", "location", "resumed", "restarts"}`.
struct S3Result: Sendable {
    let object: S3StoredObject
    /// Nil for a presigned URL.
    private let address: S3Address?
    private let checksum: S3Checksum?
    private let location: String
    /// Bytes.
    let size: Int64
    var parts = 1
    /// The upload was created by an earlier execution.
    var isResumed = false
    var restarts = 0
    var removal: SourceRemovalResult?

    init(_ object: S3StoredObject, _ requests: S3Requests, size: Int64) {
        self.object = object
        self.size = size
        address = requests.address
        checksum = requests.payload.checksum
        location = requests.address.url
    }

    /// - Parameter url: without its query.
    init(_ object: S3StoredObject, url: String, size: Int64) {
        self.object = object
        self.size = size
        (address, checksum) = (nil, nil)
        location = url
    }

    var bytes: [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        if let address {
            writer.member("bucket", address.bucket)
            writer.member("key", address.key)
        }
        if let etag = object.etag { writer.member("etag", etag) }
        if let version = object.versionID { writer.member("versionId", version) }
        writer.member("size", size)
        writer.member("parts", parts)
        if let checksum { writer.member("checksum", checksum.rawValue) }
        writer.member("location", location)
        if isResumed { writer.member("resumed", true) }
        if restarts > 0 { writer.member("restarts", restarts) }
        removal?.write(to: &writer)
        writer.endObject()
        return writer.bytes
    }
}
