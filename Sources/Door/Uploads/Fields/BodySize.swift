internal import HTTPTypes

/// The size of a request's body, as the request announces it.
enum BodySize {
    /// - Returns: nil for a chunked body, and for none at all.
    /// - Throws: 400 for a `Content-Length` that does not fit into 64 bits.
    static func read(_ fields: HTTPFields) throws(Problem) -> Int64? { try FieldNumber.read(.contentLength, fields) }
}
