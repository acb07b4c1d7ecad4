internal import Commands
internal import Transfers

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
