/// The answer of the cache after a request that failed.
enum FetchFallback: Sendable, Equatable {
    case stored(StoredAnswer)
    case refused(FetchRefusal)
}
