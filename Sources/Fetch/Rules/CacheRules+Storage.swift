internal import Transfers

extension CacheRules {
    /// The final statuses whose caching is understood: those of RFC 9110 and 451, without 206, 304 and the
    /// ones that concern a connection, a proxy or a condition of the request. RFC 6585 forbids to store 428,
    /// 429, 431 and 511.
    private static let understood: Set<Int> = [
        200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 405, 406, 409, 410, 411,
        413, 414, 415, 422, 451, 500, 501, 502, 503, 504, 505,
    ]

    /// - Returns: why the response must not be stored; nil where it may.
    func objection(to exchange: FetchExchange, for request: FetchRequest) -> StorageRefusal? {
        objection(to: exchange.head, isComplete: exchange.isComplete, for: request)
    }

    /// - Parameter head: of a response, or of a stored one as a 304 has updated it.
    func objection(to head: ResponseHead, isComplete: Bool, for request: FetchRequest) -> StorageRefusal? {
        let control = CacheControl(head.headers)
        if isWithheld(head, for: request) { return .noStore }
        guard Self.understood.contains(head.status) else { return .status }
        guard isComplete else { return .incomplete }
        if isShared {
            if control.isPrivate { return .isPrivate }
            let isPermitted = control.isPublic || control.mustRevalidate || control.sharedMaxAge != nil
            if request.headers.contains("authorization"), !isPermitted { return .authorization }
        }
        let hasLifetime =
            control.maxAge != nil || control.isPublic || isShared && control.sharedMaxAge != nil
            || control.isPrivate || head.headers.contains("expires")
        let isHeuristic = Freshness.heuristicStatuses.contains(head.status)
        return hasLifetime || isHeuristic ? nil : .noLifetime
    }

    /// Whether `no-store` applies, so that the result has neither headers nor body. `must-understand` takes
    /// the place of the response's `no-store` where its status is understood (RFC 9111, section 5.2.2.3).
    func isWithheld(_ head: ResponseHead, for request: FetchRequest) -> Bool {
        if CacheControl(request.headers).isNoStore { return true }
        let control = CacheControl(head.headers)
        return control.isNoStore && !(control.mustUnderstand && Self.understood.contains(head.status))
    }
}
