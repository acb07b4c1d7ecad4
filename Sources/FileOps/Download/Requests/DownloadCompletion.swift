/// A part that has all bytes. It is published once the checksums are right.
struct DownloadCompletion: Sendable, Equatable {
    /// Bytes of the file.
    var length: Int64
    /// To compare with those of the part: the payload's, and one of the server's.
    var checksums: [Checksum]
    /// Whether nothing shows that the body was not cut off: the server gave no length, and the payload has
    /// neither size nor checksum.
    var isUnverified: Bool
}
