internal import Commands
internal import HTTPTypes
internal import Uploads

/// Reads the fields of Resumable Uploads for HTTP. A structured field with another value than the draft's is ignored.
enum ResumableReader {
    /// Reads a POST or PUT.
    /// - Returns: nil for a request that does not say whether it is complete: a plain upload.
    static func creation(_ fields: HTTPFields, _ dialect: ResumableDialect) throws(Problem) -> ResumableCreation? {
        guard let isComplete = dialect.isComplete(fields) else { return nil }
        let size = try BodySize.read(fields)
        var length = StructuredFields.size(.uploadLength, fields)
        if let size, let length, isComplete ? size != length : size > length {
            throw inconsistentLength(stated: length, found: size)
        }
        if isComplete, let size { length = size }
        var append = UploadAppend(offset: 0, size: size, completion: isComplete ? .atEnd : .later)
        append.checksum = try DigestFields.read(.contentDigest, fields)
        return ResumableCreation(
            length: length, digest: try DigestFields.read(.reprDigest, fields), append: append)
    }

    /// Reads a PATCH.
    static func append(_ fields: HTTPFields, _ dialect: ResumableDialect) throws(Problem) -> UploadAppend {
        try ContentCoding.check(fields)
        if dialect.needsMediaType, MediaType.read(fields) != MediaType.partialUpload {
            throw Problem(
                .unsupportedMediaType, "unsupported-media-type",
                "A PATCH of a resumable upload has the Content-Type \(MediaType.partialUpload).",
                fields: [.acceptPatch: MediaType.partialUpload])
        }
        guard let offset = StructuredFields.size(.uploadOffset, fields) else {
            throw Problem(
                .badRequest, "invalid-field",
                "Upload-Offset is not an integer; send the offset that HEAD answers.")
        }
        guard let isComplete = dialect.isComplete(fields) else {
            let name = dialect.completeField.rawName
            let (last, before) = dialect.statesIncomplete ? ("?0", "?1") : ("?1", "?0")
            throw Problem(
                .badRequest, "invalid-field",
                "\(name) is neither ?1 nor ?0; send \(last) with the last bytes, and \(before) before.")
        }
        let size = try BodySize.read(fields)
        var append = UploadAppend(offset: offset, size: size, completion: isComplete ? .atEnd : .later)
        append.length = StructuredFields.size(.uploadLength, fields)
        append.digest = try DigestFields.read(.reprDigest, fields)
        append.checksum = try DigestFields.read(.contentDigest, fields)
        if let size, let length = append.length {
            let (end, overflow) = offset.addingReportingOverflow(size)
            guard !overflow, isComplete ? end == length : end <= length else {
                throw inconsistentLength(stated: length, found: overflow ? .max : end)
            }
        }
        return append
    }

    private static func inconsistentLength(stated: Int64, found: Int64) -> Problem {
        Problem(
            .badRequest, "inconsistent-upload-length",
            "Upload-Length is \(stated), and the bytes of the request end at \(found); correct one of them.")
    }
}
