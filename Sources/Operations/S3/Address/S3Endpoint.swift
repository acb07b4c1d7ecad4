internal import Commands
internal import HTTPClient

/// The URL of an S3 service: an origin, or a path below which its buckets are, as `https://host/storage/v1/s3`. The path is
/// signed as it is sent.
struct S3Endpoint: Sendable, Equatable {
    let destination: Destination
    /// Percent-encoded, without a slash at its end; empty where there is none.
    let path: String

    /// - Returns: nil for a text that is not a URL of HTTP, and for one with a user, a query, an empty segment or a dot
    ///   segment, which servers resolve in different ways.
    init?(_ text: String) {
        guard let url = try? ResourceURL(text), url.scheme != .file, url.query.isEmpty,
            HTTPOrigin(url.destination) != nil
        else { return nil }
        var path = url.path
        while path.hasSuffix("/") { path.removeLast() }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard
            segments.allSatisfy({ segment in
                let decoded = PercentEncoding.validDecoded(segment.utf8).flatMap {
                    String(validating: $0, as: UTF8.self)
                }
                return decoded.map { !$0.isEmpty && $0 != "." && $0 != ".." && !$0.contains("/") } ?? false
            })
        else { return nil }
        destination = url.destination
        self.path = path
    }

    /// The URL in a payload.
    var text: String { destination.text + path }
}
