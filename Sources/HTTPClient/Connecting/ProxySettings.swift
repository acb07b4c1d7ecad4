internal import Glibc

/// Which requests go through a proxy. The environment variables are curl's (curl(1), “ENVIRONMENT”):
/// `https_proxy` or `HTTPS_PROXY` for https, `http_proxy` in lower case only for http, `all_proxy` or
/// `ALL_PROXY` where neither is set. `no_proxy` or `NO_PROXY` lists the exceptions. A setting for an origin
/// takes precedence.
package struct ProxySettings: Sendable, Equatable {
    /// The proxy for http and https alike. Nil: ``http`` and ``https`` decide. Nil inside: no proxy.
    package var general: HTTPProxy??
    package var http: HTTPProxy?
    package var https: HTTPProxy?
    package var exceptions = ProxyExceptions("")
    /// Proxies of single origins. Nil inside: no proxy.
    package var byOrigin: [HTTPOrigin: HTTPProxy?] = [:]

    /// No proxy at all.
    package init() {}

    /// Reads the environment.
    /// - Throws: ``ProxyError`` that names the variable.
    package init(environment: (String) -> String?) throws(ProxyError) {
        func proxy(_ names: String...) throws(ProxyError) -> HTTPProxy? {
            for name in names {
                guard let text = environment(name), !text.isEmpty else { continue }
                do throws(ProxyError) { return try HTTPProxy(text) } catch {
                    throw ProxyError(error.description, variable: name)
                }
            }
            return nil
        }
        let all = try proxy("all_proxy", "ALL_PROXY")
        http = try proxy("http_proxy") ?? all
        https = try proxy("https_proxy", "HTTPS_PROXY") ?? all
        exceptions = ProxyExceptions(environment("no_proxy") ?? environment("NO_PROXY") ?? "")
    }

    /// - Returns: nil where the request goes to the origin directly.
    package func proxy(for origin: HTTPOrigin) -> HTTPProxy? {
        if let own = byOrigin[origin] { return own }
        if exceptions.contains(host: origin.host, port: origin.port) { return nil }
        if let general { return general }
        return origin.isEncrypted ? https : http
    }

    /// A text to display, without passwords; nil where no request goes through a proxy.
    package var summary: String? {
        var parts: [String] = []
        switch general {
        case .some(let proxy): if let proxy { parts.append("\(proxy)") }
        case nil:
            if let http { parts.append("http: \(http)") }
            if let https { parts.append("https: \(https)") }
        }
        for (origin, proxy) in byOrigin.sorted(by: { $0.key.description < $1.key.description }) {
            parts.append("\(origin): \(proxy.map { "\($0)" } ?? "none")")
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}
