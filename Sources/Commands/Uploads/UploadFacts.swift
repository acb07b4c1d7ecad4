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
    /// The name of that token, for people. Uploads of earlier releases have none.
    package var tokenName: String?
    /// The grant that created it; nil for any other token.
    package var grant: Grant?
    /// The required digest of all bytes; the completion is refused where it differs.
    package var digest: UploadDigest?
    /// The algorithm of the digest that the client wants to be told when the upload is complete; nil: none.
    package var wantedDigest: UploadDigest.Algorithm?
    /// Its part in a concatenation of tus; nil for most.
    package var concatenation: Concatenation?
    /// The version of `Upload-Draft-Interop-Version` that the client speaks; nil without one.
    package var interopVersion: Int?
    /// The values of metadata that the site has set in place of ``metadata``, when it was asked whether the upload may be
    /// created; nil where it has set none.
    package var siteMetadata: [String: String]?
    /// The unique key that the site has set for the command or flow, in place of the route's own.
    package var uniqueKey: String?

    /// A token that another one has made for uploads.
    package struct Grant: Sendable, Equatable {
        /// The owner of its maker (as ``UploadFacts/token``): the share of the maker holds for all of its grants.
        package var maker: String
        /// Bytes that its uploads may have in the spool; nil: as many as those of its maker.
        package var maxBytes: Int64?

        package init(maker: String, maxBytes: Int64? = nil) {
            self.maker = maker
            self.maxBytes = maxBytes
        }
    }

    package enum Concatenation: Sendable, Equatable {
        /// It may become a part of others.
        case partial
        /// It was made of these, in their order.
        case final([CommandID])
    }

    package init(origin: UploadProtocol) { self.origin = origin }

    /// The facts that the client has stated: the same request again states the same, whichever grant it has, and whatever the site
    /// has set.
    package var statement: UploadFacts {
        var facts = self
        (facts.tokenName, facts.grant, facts.siteMetadata, facts.uniqueKey) = (nil, nil, nil, nil)
        return facts
    }
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

    /// Whether a client goes on with an upload by its URL.
    package var isResumable: Bool { self == .tus || self == .resumable }
}
