internal import HTTPClient
internal import HTTPTypes

/// The boundary of a form (RFC 2046, section 5.1.1).
enum MultipartBoundary {
    /// - Throws: 400 for a `Content-Type` without a valid boundary.
    static func read(_ fields: HTTPFields) throws(Problem) -> [UInt8] {
        let text = fields[.contentType].flatMap { FieldParameters($0.utf8)?["boundary"] } ?? ""
        let boundary = Array(text.utf8)
        guard (1...MultipartLimits.maxBoundary).contains(boundary.count), boundary.allSatisfy(isPermitted),
            boundary.last != UInt8(ascii: " ")
        else {
            throw Problem(
                .badRequest, "invalid-form",
                "The Content-Type of a form states a boundary of 1 to 70 characters; send one.")
        }
        return boundary
    }

    private static func isPermitted(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "'()+_,-./:=? ".utf8.contains(byte)
    }
}
