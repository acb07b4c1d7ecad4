internal import Commands
package import HTTPTypes
internal import Host
internal import Logging
internal import Synchronization

/// Refuses requests that a page of another origin made a browser send with the cookies of this one.
///
/// The rules are those of `CrossOriginProtection` of Go 1.25, but a request that says nothing of its origin needs a
/// bearer token.
package struct OriginCheck: Sendable {
    private let allowed: Set<String>

    /// - Parameter allowedOrigins: origins such as `https://example.com` in addition to the door's own.
    package init(allowedOrigins: [String]) { allowed = Set(allowedOrigins.map { $0.lowercased() }) }

    /// Refuses a request that another origin may have caused. GET, HEAD and OPTIONS change nothing and pass.
    /// - Parameter host: the field Host.
    /// - Throws: ``Problem`` 403 `cross-origin`.
    package func check(_ method: HTTPRequest.Method, _ fields: HTTPFields, host: String) throws(Problem) {
        guard ![.get, .head, .options].contains(method), !Self.hasBearerToken(fields) else { return }
        let origin = fields[.origin]?.lowercased()
        if let origin, allowed.contains(origin) { return }
        switch fields[.secFetchSite] {
        case "same-origin", "none": return
        case .some: break
        case nil:
            guard let origin else { break }
            if Self.host(of: origin) == host.lowercased() { return }
        }
        throw Problem(
            .forbidden, "cross-origin",
            "The request does not come from a page of this server; send it from there, or with a bearer token.")
    }

    package static func hasBearerToken(_ fields: HTTPFields) -> Bool {
        fields[.authorization]?.lowercased().hasPrefix("bearer ") ?? false
    }

    private static func host(of origin: String) -> String? {
        for scheme in ["http://", "https://"] where origin.hasPrefix(scheme) {
            return String(origin.dropFirst(scheme.count))
        }
        return nil
    }
}

/// Counts and logs the changes that a page of another origin may have made a browser send. A page can send thousands, so
/// the log gets a line a minute.
final class OriginRefusals: Sendable {
    private static let interval: Duration = .seconds(60)

    private struct State {
        var logged: MonotonicTime?
        /// Since ``logged``.
        var silent = 0
    }

    private let statistics: DoorStatistics
    private let logger: Logger
    private let state = Mutex(State())

    init(statistics: DoorStatistics, logger: Logger) {
        self.statistics = statistics
        self.logger = logger
    }

    func add(_ request: DoorRequest, _ problem: Problem, now: MonotonicTime = .now) {
        statistics.countBadRequest(problem.type)
        let silent = state.withLock { state -> Int? in
            if let logged = state.logged, now < logged + Self.interval {
                state.silent += 1
                return nil
            }
            defer { state = State(logged: now) }
            return state.silent
        }
        guard let silent else { return }
        logger.notice(
            "A change was refused: it does not come from a page of this server.",
            metadata: [
                "client": "\(request.client)", "origin": "\((request.fields[.origin] ?? "missing").excerpt)",
                "site": "\((request.fields[.secFetchSite] ?? "missing").excerpt)", "method": "\(request.method)",
                "path": "/\(request.path.joined(separator: "/").excerpt)", "request": "\(request.id)",
                "earlier": "\(silent)",
            ])
    }
}

/// The fields of Cross-Origin Resource Sharing for endpoints that pages of other origins use with tokens. Cookies are
/// never allowed, so any origin may be.
package enum CORS {
    /// Longer than the maximum of any browser: Firefox takes 86,400 s, Chromium 7,200 s.
    private static let maxAge = "86400"

    /// The fields of clients of tus and IETF resumable uploads, of digests, and of idempotency.
    package static let allowedFields = [
        "Authorization", "Origin", "X-Requested-With", "X-Request-ID", "X-HTTP-Method-Override", "Content-Type",
        "Upload-Length", "Upload-Offset", "Tus-Resumable", "Upload-Metadata", "Upload-Defer-Length", "Upload-Concat",
        "Upload-Incomplete", "Upload-Complete", "Upload-Draft-Interop-Version", "Upload-Checksum", "Idempotency-Key",
        "Content-Digest", "Repr-Digest", "Want-Repr-Digest", "If-Match", "If-None-Match", "Prefer",
    ].joined(separator: ", ")

    /// The fields of responses that pages may read.
    package static let exposedFields = [
        "Upload-Offset", "Location", "Upload-Length", "Tus-Version", "Tus-Resumable", "Tus-Max-Size", "Tus-Extension",
        "Upload-Metadata", "Upload-Defer-Length", "Upload-Concat", "Upload-Incomplete", "Upload-Complete",
        "Upload-Draft-Interop-Version", "Upload-Expires", "Upload-Limit", "Tus-Checksum-Algorithm", "Repr-Digest",
        "Retry-After", "ETag", "Link", "X-Request-ID", "Sluice-Command-ID",
    ].joined(separator: ", ")

    /// Adds the fields to a response.
    /// - Parameters:
    ///   - origin: the field Origin of the request; nil where it has none.
    ///   - preflight: the methods of the endpoint where the request asks for them in advance; otherwise nil.
    package static func add(to fields: inout HTTPFields, origin: String?, preflight: [HTTPRequest.Method]?) {
        fields[values: .vary].append("Origin")
        guard let origin else { return }
        fields[.accessControlAllowOrigin] = origin
        if let preflight {
            fields[.accessControlAllowMethods] = preflight.map(\.rawValue).joined(separator: ", ")
            fields[.accessControlAllowHeaders] = allowedFields
            fields[.accessControlMaxAge] = maxAge
        } else {
            fields[.accessControlExposeHeaders] = exposedFields
        }
    }

    package static func isPreflight(_ method: HTTPRequest.Method, _ fields: HTTPFields) -> Bool {
        method == .options && fields.contains(.origin) && fields.contains(.accessControlRequestMethod)
    }
}
