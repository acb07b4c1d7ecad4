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
    /// The public id of the first token with the name of the token that created it; nil where the door asks for none.
    package var token: String?
    /// The required digest of all bytes; the completion is refused where it differs.
    package var digest: UploadDigest?
    /// The algorithm of the digest that the client wants to be told when the upload is complete; nil: none.
    package var wantedDigest: UploadDigest.Algorithm?
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
