public import Commands
internal import Store

extension SluiceClient {
    /// The rate limits, by name.
    /// - Throws: ``SluiceError``.
    public func limits() async throws -> [String: RateLimit] {
        try await read { queue in try queue.store.rateLimits() }
    }

    /// Makes a rate limit, or changes it. It acts at once, survives restarts, and needs no running coordinator. A new one
    /// begins without tokens.
    /// - Parameters:
    ///   - name: 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”, as in ``SubmitOptions/limit``.
    ///   - limit: replaces the whole of the former one.
    /// - Throws: ``SluiceError`` with the code `usage` for another name, a burst or a number at once out of its range.
    public func setLimit(_ name: String, to limit: RateLimit) async throws {
        guard RateLimit.isName(name) else {
            throw SluiceError(.usage, "“\(name)” is not the name of a rate limit: \(RateLimit.nameForm)")
        }
        guard (1...StartRate.maxBurst).contains(limit.burst ?? 1) else {
            throw SluiceError(.usage, "the burst of a rate limit is 1 to \(StartRate.maxBurst), or nil")
        }
        guard (1...RateLimit.maxAtOnce).contains(limit.atOnce ?? 1) else {
            throw SluiceError(.usage, "a rate limit lets 1 to \(RateLimit.maxAtOnce) commands run at once, or nil")
        }
        _ = try await write { access in
            try access.changeRateLimit(name, RateLimitChange(to: limit))
        }
    }

    /// Removes a rate limit. Commands that name it wait until one of that name is set again.
    /// - Returns: false where there was none.
    /// - Throws: ``SluiceError``.
    @discardableResult
    public func removeLimit(_ name: String) async throws -> Bool {
        try await write { access in try access.removeRateLimit(name) } != nil
    }
}
