package import HTTPTypes

/// The fields of Cross-Origin Resource Sharing for endpoints that pages of other origins use with tokens. Cookies are
/// never allowed, so any origin may be.
package enum CORS {
    /// Longer than the maximum of any browser: Firefox takes 86,400 s, Chromium 7,200 s.
    private static let maxAge = "86400"

    /// The fields of clients of tus and IETF resumable uploads, of digests, and of idempotency.
    package static let allowedFields = [
        "Authorization", "Origin", "X-Requested-With", "X-Request-ID", "X-HTTP-Method-Override", "Content-Type",
        "Upload-Length", "Upload-Offset", "Tus-Resumable", "Upload-Metadata", "Upload-Defer-Length", "Upload-Concat",
        "Upload-Incomplete", "Upload-Complete", "Upload-Draft-Interop-Version", "Upload-Checksum", "Idempotency-Key",
        "Content-Digest", "Repr-Digest", "Want-Repr-Digest", "If-Match", "If-None-Match", "Prefer",
    ].joined(separator: ", ")

    /// The fields of responses that pages may read.
    package static let exposedFields = [
        "Upload-Offset", "Location", "Upload-Length", "Tus-Version", "Tus-Resumable", "Tus-Max-Size", "Tus-Extension",
        "Upload-Metadata", "Upload-Defer-Length", "Upload-Concat", "Upload-Incomplete", "Upload-Complete",
        "Upload-Draft-Interop-Version", "Upload-Expires", "Upload-Limit", "Tus-Checksum-Algorithm", "Repr-Digest",
        "Retry-After", "ETag", "Link", "X-Request-ID", "Sluice-Command-ID",
    ].joined(separator: ", ")

    /// Adds the fields to a response.
    /// - Parameters:
    ///   - origin: the field Origin of the request; nil where it has none.
    ///   - preflight: the methods of the endpoint where the request asks for them in advance; otherwise nil.
    package static func add(to fields: inout HTTPFields, origin: String?, preflight: [HTTPRequest.Method]?) {
        fields[values: .vary].append("Origin")
        guard let origin else { return }
        fields[.accessControlAllowOrigin] = origin
        if let preflight {
            fields[.accessControlAllowMethods] = preflight.map(\.rawValue).joined(separator: ", ")
            fields[.accessControlAllowHeaders] = allowedFields
            fields[.accessControlMaxAge] = maxAge
        } else {
            fields[.accessControlExposeHeaders] = exposedFields
        }
    }

    package static func isPreflight(_ method: HTTPRequest.Method, _ fields: HTTPFields) -> Bool {
        method == .options && fields.contains(.origin) && fields.contains(.accessControlRequestMethod)
    }
}
