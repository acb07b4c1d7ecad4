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

extension UploadFacts {
    /// Members without a value are left out.
    package var json: JSONValue {
        var members: [JSONValue.Member] = [.init("origin", .string(origin.rawValue))]
        func add(_ name: String, _ value: String?) {
            if let value { members.append(.init(name, .string(value))) }
        }
        add("metadata", metadata)
        add("fileName", fileName)
        add("contentType", contentType)
        add("route", route)
        add("token", token)
        if let digest {
            members.append(
                .init("digest", .object([.init(digest.algorithm.rawValue, .string(Hexadecimal.text(digest.bytes)))])))
        }
        add("wantedDigest", wantedDigest?.rawValue)
        switch concatenation {
        case .partial?: members.append(.init("isPartial", .bool(true)))
        case .final(let parts)?: members.append(.init("parts", .array(parts.map { .string($0.description) })))
        case nil: break
        }
        if let interopVersion { members.append(.init("interopVersion", .integer(Int64(interopVersion)))) }
        add("tokenName", tokenName)
        if let grant {
            add("maker", grant.maker)
            if let bytes = grant.maxBytes { members.append(.init("maxBytes", .integer(bytes))) }
        }
        if let siteMetadata {
            let values = siteMetadata.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .string($0.value)) }
            members.append(.init("siteMetadata", .object(values)))
        }
        add("uniqueKey", uniqueKey)
        return .object(members)
    }

    /// Reads ``json`` back. Nil for anything else. Unknown members are left out.
    package init?(_ value: JSONValue) {
        guard let origin = value["origin"]?.string.flatMap({ UploadProtocol(rawValue: $0) }) else { return nil }
        self.init(origin: origin)
        metadata = value["metadata"]?.string
        fileName = value["fileName"]?.string
        contentType = value["contentType"]?.string
        route = value["route"]?.string
        token = value["token"]?.string
        if let member = value["digest"]?.members?.first {
            guard let algorithm = UploadDigest.Algorithm(rawValue: member.name),
                let bytes = member.value.string.flatMap({ Hexadecimal.bytes($0) }),
                let digest = UploadDigest(algorithm, bytes)
            else { return nil }
            self.digest = digest
        }
        wantedDigest = value["wantedDigest"]?.string.flatMap { UploadDigest.Algorithm(rawValue: $0) }
        if value["isPartial"]?.bool == true { concatenation = .partial }
        if let parts = value["parts"]?.elements {
            let ids = parts.compactMap { $0.string.flatMap { CommandID($0) } }
            guard ids.count == parts.count else { return nil }
            concatenation = .final(ids)
        }
        interopVersion = value["interopVersion"]?.integer.map { Int($0) }
        tokenName = value["tokenName"]?.string
        grant = value["maker"]?.string.map { Grant(maker: $0, maxBytes: value["maxBytes"]?.integer) }
        if let members = value["siteMetadata"]?.members {
            siteMetadata = Dictionary(members.map { ($0.name, $0.value.string ?? "") }) { first, _ in first }
        }
        uniqueKey = value["uniqueKey"]?.string
    }
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
