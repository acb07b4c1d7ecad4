internal import Commands
internal import Transfers

/// A GET as the cache sees it.
struct FetchRequest: Sendable, Equatable {
    /// As ``CacheKey/url(_:)``.
    var url: String
    /// As ``CachePartition/text(name:credential:headers:)``.
    var partition: String
    /// As sent, with the credential's, and without those of ``ConditionalRequest``.
    var headers: HeaderFields
    var mode: FetchNetworkUse
    /// How long a response may have been stale to be used. Nil: the origin's statements apply, and any age
    /// while the origin cannot be reached. Zero: never stale.
    var maxStale: Duration?

    init(
        url: String, partition: String = "", headers: HeaderFields = HeaderFields(), mode: FetchNetworkUse = .both,
        maxStale: Duration? = nil
    ) {
        self.url = url
        self.partition = partition
        self.headers = headers
        self.mode = mode
        self.maxStale = maxStale
    }
}

/// When `fetch` asks the network: the payload's `mode`.
enum FetchNetworkUse: String, Sendable, CaseIterable {
    /// Shows the stored response at once and asks, unless it is explicitly fresh.
    case both
    /// Asks always, and takes only an answer that the origin has just confirmed.
    case reload
    /// Never asks.
    case stored
    /// Asks first, and takes the stored response where that fails.
    case network
}

/// The header fields that `fetch` adds to a request to validate a stored response.
struct ConditionalRequest: Sendable, Equatable {
    var fields: [HTTPField] = []

    /// A request for the whole response.
    static let unconditional = ConditionalRequest()

    private init() {}

    /// Both validators, because some servers know only one (RFC 9110, section 13.1.3). A weak tag is right
    /// for If-None-Match.
    /// - Parameter stored: nil where there is nothing to validate.
    init(validating stored: StoredResponse?, mode: FetchNetworkUse) {
        if let etag = stored?.etag { fields.append(HTTPField("If-None-Match", etag.text)) }
        if let date = stored?.lastModified { fields.append(HTTPField("If-Modified-Since", date)) }
        guard mode == .reload else { return }
        // Caches between here and the origin must ask as well: with a condition by `max-age=0`, so that they
        // may answer 304, else by `no-cache` (Fetch standard, HTTP-network-or-cache fetch).
        fields.append(isConditional ? HTTPField("Cache-Control", "max-age=0") : Self.noCache)
    }

    private static let noCache = HTTPField("Cache-Control", "no-cache")

    /// Whether the server may answer 304.
    var isConditional: Bool { fields.contains { $0.name != "Cache-Control" } }

    /// The same request without its conditions.
    var withoutConditions: ConditionalRequest {
        var copy = self
        copy.fields = fields.contains { $0.name == "Cache-Control" } ? [Self.noCache] : []
        return copy
    }
}

/// A request that was answered, and its answer.
struct FetchExchange: Sendable, Equatable {
    var asked: ConditionalRequest
    /// By the wall clock.
    var requestedAt: Timestamp
    /// When the head of the response arrived, by the wall clock.
    var respondedAt: Timestamp
    var head: ResponseHead
    /// Whether the whole body arrived. One that was cut off is not stored.
    var isComplete = true
    /// Length of the body.
    var bytes: Int64 = 0
    /// Of the body, in hexadecimal.
    var sha256 = ""
    var command: CommandID?
}
