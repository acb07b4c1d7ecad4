internal import Commands
internal import HTTPClient

/// Why the cache gives no answer.
enum FetchRefusal: Sendable, Equatable {
    /// A statement that keeps a stored response from being used before its origin was asked.
    enum Prohibition: String, Sendable, CaseIterable {
        case noCache = "no-cache"
        case mustRevalidate = "must-revalidate"
        case variesByAnything = "Vary: *"
        /// An unsafe request to its URL succeeded since.
        case invalidated
    }

    /// No response is stored for this request.
    case nothingStored
    case forbidden(Prohibition)
    /// It has been stale for this time, and `maxStale` is shorter. Nil: its age is unknown.
    case tooStale(Duration?, maxStale: Duration)
    /// A reload takes only an answer that was just confirmed.
    case notConfirmed
    /// The origin answered with this error, which is not one that permits a stale response.
    case error(status: Int)
    /// The stored response is an error that its origin permits to keep.
    case storedError(status: Int)
    /// A 304 to a request without a condition.
    case unexpectedNotModified

    /// A sentence that says what happened, to what, and what to do.
    /// - Parameter url: is shown without the values of its query.
    func message(url: String) -> String {
        let url = "“\(HTTPHeaderRedaction.shown(url: url))”"
        switch self {
        case .nothingStored: return "nothing stored for \(url); fetch it while its origin can be reached"
        case .forbidden(.invalidated):
            return "\(url) is stored, but a later request has changed it; fetch it while its origin can be reached"
        case .forbidden(let prohibition):
            return "\(url) is stored, but its origin forbids it unasked (\(prohibition.rawValue)); "
                + "fetch it while its origin can be reached"
        case .tooStale(let staleness, let maxStale):
            let time = staleness.map { "has been stale for \($0.wholeSeconds) s" } ?? "has an unknown age"
            return "\(url) is stored, but \(time), and maxStale is \(maxStale.wholeSeconds) s; raise maxStale"
        case .notConfirmed:
            return "\(url) is stored, but its origin has not confirmed it; use another mode than reload to read it"
        case .error(let status):
            return "\(url) was answered \(status), and its origin does not permit the stored response instead; "
                + "set maxStale, or use the mode network"
        case .storedError(let status):
            return "\(url) was answered \(status), which its origin says is still so; use the mode reload to ask again"
        case .unexpectedNotModified:
            return "\(url) was answered 304 without having been asked for a change; check the server"
        }
    }
}

extension Duration {
    /// Seconds without their fraction.
    var wholeSeconds: Int64 { components.seconds }
}

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
