internal import Commands
package import HTTPTypes

/// `Content-Encoding` of a request. Uploads are kept as they come, and nothing records a coding with them; JSON is read as
/// it comes.
package enum ContentCoding {
    /// - Throws: 415 for a coded body (RFC 9110, section 8.4).
    package static func check(_ fields: HTTPFields) throws(Problem) {
        guard let coding = fields[.contentEncoding], coding.lowercased() != "identity" else { return }
        throw Problem(
            .unsupportedMediaType, "unsupported-content-encoding",
            "The body has the Content-Encoding “\(coding.excerpt)”; send the bytes without a coding.",
            fields: [.acceptEncoding: "identity"])
    }
}
