package import HTTPTypes

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
