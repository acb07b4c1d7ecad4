internal import Commands
internal import HTTPClient
internal import Transfers

/// A response in the cache: the columns of its row, except for the place of its body.
struct StoredResponse: Sendable, Equatable {
    var key: CacheKey
    var status: Int
    /// Without the fields of ``UnstoredFields``.
    var headers: HeaderFields
    /// Length of the body.
    var bytes: Int64
    /// Of the body, in hexadecimal.
    var sha256: String
    /// When the request that brought the body was sent.
    var requestedAt: Timestamp
    /// When the head of that response arrived.
    var respondedAt: Timestamp
    /// When the last response that confirmed it arrived: that response itself, or a 304.
    var validatedAt: Timestamp
    /// The age at `validatedAt`: the `Age` field and the time from the request to the response.
    var ageAtReceipt: Duration
    /// The end of the freshness lifetime.
    var freshUntil: Timestamp
    /// The end of `stale-if-error`; `freshUntil` where there is none.
    var staleErrorUntil: Timestamp
    /// The end of `stale-while-revalidate`; `freshUntil` where there is none.
    var staleWhileUntil: Timestamp
    var flags: StoredFlags
    /// The validator for `If-None-Match`.
    var etag: EntityTag?
    /// The validator for `If-Modified-Since`: a valid date, as sent.
    var lastModified: String?
    /// When it last answered a command. The least recently used one is deleted first.
    var usedAt: Timestamp
    /// The command that stored it.
    var command: CommandID?
}

extension StoredResponse {
    /// - Returns: nil where the clock was set back to before the response arrived: the age is unknown.
    func age(at now: Timestamp) -> Duration? {
        now < validatedAt ? nil : max(.zero, ageAtReceipt + (now - validatedAt))
    }

    /// Whether the lifetime is longer than the age (RFC 9111, section 4.2). False while the age is unknown.
    func isFresh(at now: Timestamp) -> Bool { now >= validatedAt && now < freshUntil }

    /// How long it has been stale; nil while the age is unknown, zero while it is fresh.
    func staleness(at now: Timestamp) -> Duration? {
        now < validatedAt ? nil : max(.zero, now - freshUntil)
    }

    /// How long no request is needed. Zero where the lifetime is only a guess, and where each use is
    /// validated.
    func freshFor(at now: Timestamp) -> Duration {
        let isAsked: StoredFlags = [.noCache, .heuristic, .variesByAnything, .invalidated]
        return isFresh(at: now) && flags.isDisjoint(with: isAsked) ? freshUntil - now : .zero
    }

    /// When its origin made it, by its own clock: orders responses to one request (section 4).
    var madeAt: Timestamp { headers.first("date").flatMap(HTTPDate.timestamp) ?? respondedAt }

    /// Whether it may be kept when its origin answers with an error: a success, a redirect, or the absence of
    /// the resource.
    var isGood: Bool { (200..<400).contains(status) || status == 404 || status == 410 }

    /// As it stands after an unsafe request to its URL. In SQL: set the flag and the minimum of each time.
    func invalidated(at now: Timestamp) -> StoredResponse {
        var copy = self
        copy.flags.insert(.invalidated)
        copy.freshUntil = min(freshUntil, now)
        copy.staleErrorUntil = min(staleErrorUntil, now)
        copy.staleWhileUntil = min(staleWhileUntil, now)
        return copy
    }
}

extension StoredResponse {
    /// The stored form of a complete response.
    /// - Parameter exchange: has a response that may be stored.
    init(_ exchange: FetchExchange, for request: FetchRequest, isShared: Bool) {
        let head = exchange.head
        key = CacheKey(
            url: request.url, partition: request.partition, vary: VaryNames(head.headers).text(for: request.headers))
        status = head.status
        headers = head.headers.removing(UnstoredFields.names(of: head.headers))
        (bytes, sha256) = (exchange.bytes, exchange.sha256)
        (requestedAt, respondedAt) = (exchange.requestedAt, exchange.respondedAt)
        (usedAt, command) = (exchange.respondedAt, exchange.command)
        validatedAt = exchange.respondedAt
        (ageAtReceipt, flags) = (.zero, [])
        (freshUntil, staleErrorUntil, staleWhileUntil) = (validatedAt, validatedAt, validatedAt)
        read(exchange, isShared: isShared)
    }

    /// The stored response after a 304 (RFC 9111, sections 3.2 and 4.3.4).
    ///
    /// Each field of the 304 replaces the stored ones of its name, except for those that describe the body or
    /// the connection. `Age` goes where the 304 has none, because the origin has just been asked. `Vary` may
    /// change, and the key with it.
    func updated(by exchange: FetchExchange, for request: FetchRequest, isShared: Bool) -> StoredResponse {
        let dropped = UnstoredFields.names(of: exchange.head.headers).union(UnstoredFields.keptAtUpdate)
        let fresh = exchange.head.headers.removing(dropped)
        var copy = self
        let replaced = Set(fresh.fields.map { $0.name.lowercased() }).union(["age"])
        copy.headers = headers.removing(replaced).appending(fresh.fields)
        copy.key.vary = VaryNames(copy.headers).text(for: request.headers)
        copy.validatedAt = exchange.respondedAt
        copy.usedAt = exchange.respondedAt
        copy.read(exchange, isShared: isShared)
        return copy
    }

    /// Derives times, flags and validators from `headers` and from the exchange that has just confirmed them.
    private mutating func read(_ exchange: FetchExchange, isShared: Bool) {
        let control = CacheControl(headers)
        // The date of a 304 without `Date` is not the stored one.
        let date = exchange.head.headers.first("date").flatMap(HTTPDate.timestamp) ?? exchange.respondedAt
        let freshness = Freshness(
            of: ResponseHead(status: status, headers: headers), control, date: date, isShared: isShared)
        ageAtReceipt = Freshness.age(
            of: exchange.head.headers, requestedAt: exchange.requestedAt, respondedAt: exchange.respondedAt)
        freshUntil = validatedAt + (freshness.lifetime - ageAtReceipt)
        staleErrorUntil = freshUntil + (control.staleIfError?.duration ?? .zero)
        staleWhileUntil = freshUntil + (control.staleWhileRevalidate?.duration ?? .zero)
        flags = []
        if control.isNoCache { flags.insert(.noCache) }
        if control.mustRevalidate || isShared && (control.proxyRevalidate || control.sharedMaxAge != nil) {
            flags.insert(.mustRevalidate)
        }
        if control.isImmutable { flags.insert(.immutable) }
        if freshness.basis == .heuristic { flags.insert(.heuristic) }
        if VaryNames(headers) == .any { flags.insert(.variesByAnything) }
        etag = EntityTag(in: headers)
        lastModified = headers.first("last-modified").flatMap { HTTPDate.timestamp($0) == nil ? nil : $0 }
    }
}

/// Properties of a stored response that do not depend on the time: the column `flags`.
struct StoredFlags: OptionSet, Sendable, Hashable {
    var rawValue: Int64

    /// Must be validated for each use (`no-cache`).
    static let noCache = StoredFlags(rawValue: 1)
    /// Never used while stale: `must-revalidate`; in a shared cache `proxy-revalidate` and `s-maxage` too.
    static let mustRevalidate = StoredFlags(rawValue: 2)
    /// Does not change while it is fresh, so that a reload does not ask (RFC 8246).
    static let immutable = StoredFlags(rawValue: 4)
    /// `fresh_until` is a guess from `Last-Modified`.
    static let heuristic = StoredFlags(rawValue: 8)
    /// `Vary: *`: matches no request.
    static let variesByAnything = StoredFlags(rawValue: 16)
    /// An unsafe request to its URL succeeded since (RFC 9111, section 4.4). A validation clears it.
    static let invalidated = StoredFlags(rawValue: 32)
}

/// The header fields that concern one connection or one proxy, and are not stored (RFC 9111, section 3.1).
enum UnstoredFields {
    private static let always: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "transfer-encoding", "upgrade",
    ]

    /// Fields that the cache itself needs. `Connection` must not name them (RFC 9110, section 7.6.1), and a
    /// response that does so would lose its `no-cache`.
    private static let protected: Set<String> = [
        "age", "cache-control", "date", "etag", "expires", "last-modified", "vary",
    ]

    /// The names, in lower case, that this message does not leave in the store.
    static func names(of headers: HeaderFields) -> Set<String> {
        var names = always
        for value in headers.values("connection") {
            for name in value.split(separator: ",") { names.insert(name.trimmed.lowercased()) }
        }
        return names.subtracting(protected)
    }

    /// Fields of a 304 that leave the stored ones alone: they describe the stored body (section 3.2).
    static let keptAtUpdate: Set<String> = ["content-length", "content-encoding", "content-range"]
}
