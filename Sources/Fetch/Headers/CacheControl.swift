internal import Transfers

/// The directives of `Cache-Control` that the cache obeys (RFC 9111, section 5.2; RFC 5861; RFC 8246).
///
/// A directive that restricts counts with any argument: `no-cache="set-cookie"` is taken as `no-cache`, and
/// `private="x"` as `private`, which the RFC permits. A directive that permits counts only without one. Of
/// two values of one directive the first counts (section 4.2.1).
struct CacheControl: Sendable, Equatable {
    var maxAge: DeltaSeconds?
    /// `s-maxage`, for shared caches.
    var sharedMaxAge: DeltaSeconds?
    var staleWhileRevalidate: DeltaSeconds?
    var staleIfError: DeltaSeconds?
    var isNoStore = false
    var isNoCache = false
    var isPrivate = false
    var isPublic = false
    var isImmutable = false
    var mustRevalidate = false
    var proxyRevalidate = false
    var mustUnderstand = false
    /// A quoted string has no end, so the response is stale.
    var isMalformed = false

    /// - Parameter headers: of a request or a response. Each field is read on its own, so that an unclosed
    ///   quoted string does not hide the directives of the next one.
    init(_ headers: HeaderFields) {
        for value in headers.values("cache-control") {
            let (directives, isMalformed) = CacheDirective.all(in: value)
            for directive in directives { add(directive) }
            if isMalformed { self.isMalformed = true }
        }
    }

    private mutating func add(_ directive: CacheDirective) {
        let isBare = directive.argument == .none
        switch directive.name {
        case "max-age": maxAge = maxAge ?? directive.seconds
        case "s-maxage": sharedMaxAge = sharedMaxAge ?? directive.seconds
        case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? directive.seconds
        case "stale-if-error": staleIfError = staleIfError ?? directive.seconds
        case "no-store": isNoStore = true
        case "no-cache": isNoCache = true
        case "private": isPrivate = true
        case "must-revalidate": mustRevalidate = true
        case "proxy-revalidate": proxyRevalidate = true
        case "public": if isBare { isPublic = true }
        case "immutable": if isBare { isImmutable = true }
        case "must-understand": if isBare { mustUnderstand = true }
        default: break
        }
    }
}

extension CacheDirective {
    fileprivate var seconds: DeltaSeconds {
        if case .text(let text) = argument { DeltaSeconds(text) } else { .invalid }
    }
}
