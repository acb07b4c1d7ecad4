/// Why a response is not stored (RFC 9111, section 3).
enum StorageRefusal: Sendable, Equatable {
    /// The status is interim (1xx), partial (206), 304, or not one whose caching is defined.
    case status
    /// The body was cut off.
    case incomplete
    /// `no-store` in the request or the response. The result then has neither headers nor body, because a
    /// result is stored too.
    case noStore
    /// `private`, in a shared cache.
    case isPrivate
    /// `Authorization`, in a shared cache, without a directive that permits it (section 3.5).
    case authorization
    /// The response states no lifetime, and its status has none by default.
    case noLifetime
}
