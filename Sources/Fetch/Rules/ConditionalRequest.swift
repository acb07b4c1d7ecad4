internal import Transfers

/// The header fields that `fetch` adds to a request to validate a stored response.
struct ConditionalRequest: Sendable, Equatable {
    var fields: [HTTPField] = []

    /// A request for the whole response.
    static let unconditional = ConditionalRequest()

    private init() {}

    /// Both validators, because some servers know only one (RFC 9110, section 13.1.3). A weak tag is right
    /// for If-None-Match.
    /// - Parameter stored: nil where there is nothing to validate.
    init(validating stored: StoredResponse?, mode: FetchMode) {
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
