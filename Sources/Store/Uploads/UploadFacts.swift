package import Commands

/// The properties that a client has stated for an upload when it created it. Kept as JSON.
package struct UploadFacts: Sendable, Equatable {
    /// The protocol of the request that created it.
    package var origin: UploadProtocol
    /// The `Upload-Metadata` of tus as it was sent; nil without one.
    package var metadata: String?
    /// Text of the client: never a path, never a header value unchecked. Nil where it stated none.
    package var fileName: String?
    package var contentType: String?
    /// The name of the route that decides what the upload becomes; nil: it stays in the spool.
    package var route: String?
    /// The public id of the token that created it; nil where the door asks for none.
    package var token: String?
    /// The required digest of all bytes; the completion is refused where it differs.
    package var digest: UploadDigest?
    /// Its part in a concatenation of tus; nil for most.
    package var concatenation: Concatenation?
    /// The version of `Upload-Draft-Interop-Version` that the client speaks; nil without one.
    package var interopVersion: Int?

    package enum Concatenation: Sendable, Equatable {
        /// It may become a part of others.
        case partial
        /// It was made of these, in their order.
        case final([CommandID])
    }

    package init(origin: UploadProtocol) { self.origin = origin }
}

/// The protocol of an upload. The raw values are part of the store and of metrics.
package enum UploadProtocol: String, Sendable, CaseIterable {
    case tus
    /// Resumable Uploads for HTTP, a draft of the IETF.
    case resumable
    /// A plain PUT or POST of the bytes.
    case plain
    /// `multipart/form-data`.
    case form
}

/// A digest of the bytes of an upload or of one request.
package struct UploadDigest: Sendable, Equatable {
    package enum Algorithm: String, Sendable, CaseIterable {
        case sha256, sha512, sha1, md5, crc32

        /// Bytes of a digest.
        package var size: Int {
            switch self {
            case .sha256: 32
            case .sha512: 64
            case .sha1: 20
            case .md5: 16
            case .crc32: 4
            }
        }
    }

    package var algorithm: Algorithm
    /// ``Algorithm/size`` bytes; those of CRC-32 in network order.
    package var bytes: [UInt8]

    /// Nil for another number of bytes than the algorithm has.
    package init?(_ algorithm: Algorithm, _ bytes: [UInt8]) {
        guard bytes.count == algorithm.size else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }
}
