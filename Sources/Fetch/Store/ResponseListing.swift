package import Commands
internal import HTTPClient
internal import Transfers

/// A stored response for people and programs to look at. Values of its query that may be secret are hidden.
package struct ResponseListing: Sendable {
    private let stored: StoredBody
    private let now: Timestamp

    init(_ stored: StoredBody, now: Timestamp) {
        self.stored = stored
        self.now = now
    }

    private var url: String { HTTPHeaderRedaction.shown(url: stored.response.key.url) }

    private var freshness: String {
        let fresh = stored.response.freshFor(at: now)
        if fresh > .zero { return "fresh \(fresh.wholeSeconds)s" }
        if stored.response.flags.contains(.invalidated) { return "invalidated" }
        if stored.response.flags.contains(.noCache) { return "no-cache" }
        return stored.response.isFresh(at: now) ? "guessed" : "stale"
    }

    /// `200      1204      35s       stale  https://…`: status, bytes, age, freshness, URL.
    package var line: String {
        let age = stored.response.age(at: now).map { "\($0.wholeSeconds)s" } ?? "?"
        func right(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(width - text.utf8.count, 0)) + text
        }
        return "\(stored.response.status) \(right(String(stored.response.bytes), 9)) \(right(age, 8)) "
            + "\(right(freshness, 11))  \(url)"
    }

    /// The line, and the headers.
    package var head: [String] {
        [line]
            + stored.response.headers.fields.map { field in
                "\(field.name): \(HTTPHeaderRedaction.shown(field.value, of: field.name))"
            }
    }

    package var json: JSONValue {
        let response = stored.response
        var members: [JSONValue.Member] = [
            .init("url", .string(url)), .init("status", .integer(Int64(response.status))),
            .init("bytes", .integer(response.bytes)), .init("sha256", .string(response.sha256)),
            .init("age", response.age(at: now).map { .integer($0.wholeSeconds) } ?? .null),
            .init("freshness", .string(freshness)),
            .init("freshFor", .integer(response.freshFor(at: now).wholeSeconds)),
            .init("vary", .string(response.key.vary)), .init("hasPartition", .bool(!response.key.partition.isEmpty)),
            .init("validatedAt", .string(response.validatedAt.description)),
            .init("usedAt", .string(response.usedAt.description)),
            .init("headers", HTTPResult.headers(response.headers)),
        ]
        if case .file(let path) = stored.place { members.append(.init("bodyFile", .string(path))) }
        return .object(members)
    }
}

extension ResponseStore {
    private static let maxListed = 10_000

    /// The stored responses, the oldest first; at most 10,000.
    /// - Parameter url: the only one to list; nil: all.
    /// - Throws: ``PayloadError`` for a text that is not a URL.
    package func responses(to url: String? = nil, now: Timestamp = .now) throws -> [ResponseListing] {
        try list(url: try url.map { try CacheKey.url($0) }, limit: Self.maxListed).map { ResponseListing($0, now: now) }
    }

    /// Deletes the responses to a URL, or all.
    /// - Returns: their number.
    package func forget(responsesTo url: String?) throws -> Int {
        try forget(url: try url.map { try CacheKey.url($0) })
    }
}
