internal import Commands
internal import HTTPClient
internal import HTTPTypes
internal import RawStructuredFieldValues
internal import Store

/// Digests of RFC 9530: `sha-256=:base64:` in a dictionary.
enum DigestFields {
    /// The algorithms that the door computes, the preferred one first. RFC 9530 deprecates the last two.
    static let algorithms: [(key: String, algorithm: UploadDigest.Algorithm)] = [
        ("sha-256", .sha256), ("sha-512", .sha512), ("sha", .sha1), ("md5", .md5),
    ]

    /// Reads `Content-Digest` or `Repr-Digest`.
    /// - Returns: the first of ``algorithms`` that is there; nil without the field, and for unknown algorithms only.
    /// - Throws: 400 for a malformed field: a digest that a client states is never left unchecked in silence.
    static func read(_ name: HTTPField.Name, _ fields: HTTPFields) throws(Problem) -> UploadDigest? {
        guard fields[name] != nil else { return nil }
        guard let members = StructuredFields.dictionary(name, fields) else {
            throw Problem(
                .badRequest, "invalid-digest",
                "\(name.rawName) is not a dictionary of digests such as sha-256=:base64: (RFC 9530).")
        }
        for (key, algorithm) in algorithms {
            guard let member = members.first(where: { $0.key == key }) else { continue }
            guard case .undecodedByteSequence(let text) = member.value, let bytes = StrictBase64.decode(text),
                let digest = UploadDigest(algorithm, bytes)
            else {
                throw Problem(
                    .badRequest, "invalid-digest",
                    "\(key) in \(name.rawName) is not base64 of \(algorithm.size) bytes between colons (RFC 9530).")
            }
            return digest
        }
        return nil
    }

    /// Reads `Want-Repr-Digest`: a dictionary of preferences from 1 to 10, with 0 for unwanted algorithms.
    /// - Returns: the known algorithm with the highest preference; nil where there is none, or the field is malformed.
    static func wanted(_ fields: HTTPFields) -> UploadDigest.Algorithm? {
        guard let members = StructuredFields.dictionary(.wantReprDigest, fields) else { return nil }
        var best: (preference: Int64, algorithm: UploadDigest.Algorithm)?
        for (key, algorithm) in algorithms {
            guard let member = members.first(where: { $0.key == key }), case .integer(let preference) = member.value,
                (1...10).contains(preference), preference > best?.preference ?? 0
            else { continue }
            best = (preference, algorithm)
        }
        return best?.algorithm
    }

    /// The value of a field with this digest; nil for an algorithm that RFC 9530 does not name.
    static func text(_ digest: UploadDigest) -> String? {
        guard let entry = algorithms.first(where: { $0.algorithm == digest.algorithm }) else { return nil }
        return "\(entry.key)=:\(Base64.encode(digest.bytes)):"
    }
}

/// Base64 of a client: with padding, and nothing else (RFC 4648, section 4).
enum StrictBase64 {
    /// - Returns: nil for a text with another length than a multiple of four, with padding elsewhere than at its end,
    ///   or with other characters.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.count % 4 == 0 else { return nil }
        let body = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        let padding = text.utf8.dropFirst(body.count)
        guard padding.count <= 2, padding.allSatisfy({ $0 == UInt8(ascii: "=") }) else { return nil }
        return Base64.decode(body)
    }
}
