/// A part that the endpoint has acknowledged, as the checkpoint has it.
struct S3Part: Sendable, Equatable {
    /// 1…10,000
    var number: Int
    /// Without quotes.
    var etag: String
    /// The value of `x-amz-checksum-crc32c`; nil with any other ``S3Checksum``.
    var checksum: String?

    init(_ number: Int, etag: String, checksum: String? = nil) {
        self.number = number
        self.etag = etag
        self.checksum = checksum
    }
}
