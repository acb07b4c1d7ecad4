/// The validators of a list of one page, for the condition of the next sync.
struct ListValidators: Sendable, Equatable {
    var etag: String?
    var lastModified: String?

    /// - Returns: nil where a later 304 would not speak for the whole list: after a delta, several pages, or
    ///   an answer without validators.
    init?(etag: String?, lastModified: String?, pages: Int64, read: SyncRead) {
        guard pages == 1, read == .full, etag != nil || lastModified != nil else { return nil }
        // A value of many kilobytes is not worth a row and a header field.
        guard (etag ?? "").utf8.count <= 1024, (lastModified ?? "").utf8.count <= 64 else { return nil }
        self.etag = etag
        self.lastModified = lastModified
    }

    /// The header fields of a conditional request. A weak tag is valid in `If-None-Match` (RFC 9110, section
    /// 13.1.2).
    var headers: [(name: String, value: String)] {
        [("If-None-Match", etag), ("If-Modified-Since", lastModified)].compactMap { name, value in
            value.map { (name, $0) }
        }
    }
}
