internal import Transfers

/// A GET as the cache sees it.
struct FetchRequest: Sendable, Equatable {
    /// As ``CacheKey/url(_:)``.
    var url: String
    /// As ``CachePartition/text(name:credential:headers:)``.
    var partition: String
    /// As sent, with the credential's, and without those of ``ConditionalRequest``.
    var headers: HeaderFields
    var mode: FetchMode
    /// How long a response may have been stale to be used. Nil: the origin's statements apply, and any age
    /// while the origin cannot be reached. Zero: never stale.
    var maxStale: Duration?

    init(
        url: String, partition: String = "", headers: HeaderFields = HeaderFields(), mode: FetchMode = .both,
        maxStale: Duration? = nil
    ) {
        self.url = url
        self.partition = partition
        self.headers = headers
        self.mode = mode
        self.maxStale = maxStale
    }
}
