internal import Commands
internal import Crypto
internal import Store

/// The proof that a request to an existing upload continues that upload. Bytes that are not proved to be those of the upload
/// are refused, and change nothing: half of one file and half of another would be delivered otherwise.
///
/// - A request that repeats the creation has its idempotency key, and sends the first byte again. It must state what the
///   creation has stated. The bytes that the upload has are compared while they are skipped. A complete upload may have no
///   bytes in the spool any more: they are compared by their SHA-256, which is kept as long as the key.
/// - Any other request sends the rest only, from an offset. Where it states one of these, it must be that of the creation: the
///   length, the metadata, and the digest of all bytes.
///
/// Source: draft-ietf-httpapi-idempotency-key-header-07, sections 2.4 (fingerprint) and 2.7 (422 for another request).
enum UploadContinuation: Equatable {
    /// The bytes of the request follow those of the upload; those before are compared.
    case open
    /// The request repeats the last one, whose response was lost, and has nothing to add.
    case answered
    /// The upload is complete, and all bytes of the request must have this SHA-256.
    case complete(sha256: [UInt8])
}

extension UploadAppend {
    /// - Throws: ``UploadError`` where the request contradicts the upload.
    func continuation(of upload: Upload) throws(UploadError) -> UploadContinuation {
        if upload.state == .ended { throw .ended(upload) }
        if case .final? = upload.facts.concatenation { throw .isFinal(upload) }
        if isRepeat { return try repetition(of: upload) }
        guard offset == upload.offset else {
            let place =
                upload.state == .complete ? "has all its \(upload.offset) bytes" : "goes on at \(upload.offset)"
            throw UploadError(
                .offsetMismatch(expected: upload.offset),
                "The request begins at byte \(offset), and upload \(upload.id) \(place).", offset: upload.offset)
        }
        try checkStatements(upload)
        guard upload.state == .complete else { return .open }
        guard size == 0 else {
            throw UploadError(
                .complete, "Upload \(upload.id) has all its bytes, and takes no more.", offset: upload.offset)
        }
        return .answered
    }

    private func repetition(of upload: Upload) throws(UploadError) -> UploadContinuation {
        // An empty body says nothing about the bytes, except where it is the whole file.
        if size == 0, completion != .atEnd { return upload.state == .complete ? .answered : .open }
        if upload.offset > 0, let size {
            let isOther =
                switch completion {
                case .atEnd: upload.length.map { size != $0 } ?? (size < upload.offset)
                case .atLength, .later: upload.length.map { size > $0 } ?? false
                }
            if isOther { throw .keyConflict(upload, "has \(upload.length ?? upload.offset) bytes") }
        }
        guard upload.state == .complete else { return .open }
        guard let content = upload.fingerprint?.content else {
            throw .keyConflict(upload, "is complete, and its bytes cannot be compared any more")
        }
        return .complete(sha256: content)
    }

    private func checkStatements(_ upload: Upload) throws(UploadError) {
        var contradiction: String?
        if let metadata, metadata != upload.facts.metadata { contradiction = "Upload-Metadata" }
        if let digest, let known = upload.facts.digest, known.algorithm == digest.algorithm, known != digest {
            contradiction = "digest"
        }
        guard let contradiction else { return }
        throw UploadError(
            .inconsistentStatement,
            "The request states another \(contradiction) than the creation of upload \(upload.id); begin a new upload for "
                + "another file.", offset: upload.offset)
    }

    /// Checks the bytes that the request announces.
    /// - Parameters:
    ///   - length: of the upload, where it or the request states one.
    ///   - limit: bytes that the upload may have.
    func check(_ upload: Upload, length: Int64?, limit: Int64) throws(UploadError) {
        if let stated = statedLength {
            let isOther = upload.length.map { $0 != stated } ?? false
            guard !isOther, stated >= upload.offset else {
                throw UploadError(
                    .inconsistentLength,
                    "The request says that upload \(upload.id) has \(stated) bytes, and it has \(upload.length ?? upload.offset).",
                    offset: upload.offset)
            }
        }
        guard (length ?? 0) <= limit, (size ?? 0) <= limit - offset else {
            throw UploadError(
                .tooLarge(limit: limit), "Upload \(upload.id) may have \(limit) bytes, and the request brings more.",
                offset: upload.offset)
        }
    }

    /// The length of the whole upload, where the request says it: its end is that of the upload.
    var statedLength: Int64? {
        if let length { return length }
        guard completion == .atEnd, let size else { return nil }
        return offset.addingReportingOverflow(size).overflow ? nil : offset + size
    }

    /// Whether the offset moves only after a check of all bytes.
    var isVerified: Bool { checksum != nil || hasTrailingChecksum }
}

extension UploadFacts {
    /// The fingerprint of a creation: equal for those that create the same upload. A plain request or a form may come in
    /// chunks the first time and with a length the second; its length is compared with its bytes. A concatenation has the
    /// length of its parts.
    /// - Parameter length: nil while the client does not know it.
    func fingerprint(length: Int64?) -> UploadFingerprint {
        let isFinal = if case .final? = concatenation { true } else { false }
        let length = origin.isResumable && !isFinal ? length.map(String.init) ?? "unknown" : ""
        return UploadFingerprint(statement: Array(SHA256.hash(data: Array("\(length)\n\(statement.json.text)".utf8))))
    }
}

extension Upload {
    /// Checks that a creation with the key of this upload states what its own creation has stated.
    /// - Parameter length: nil while the client does not know it.
    func checkCreation(_ facts: UploadFacts, length: Int64?) throws(UploadError) {
        guard fingerprint?.statement == facts.fingerprint(length: length).statement else {
            throw .keyConflict(self, "has other properties")
        }
        guard let length, let own = self.length, length != own else { return }
        throw .keyConflict(self, "has \(own) bytes")
    }
}

extension IdempotencyKey {
    /// As the store keeps it: keys of different tokens are different.
    var stored: String { "\(token)\u{1F}\(value)" }
}
