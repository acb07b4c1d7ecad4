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

/// The list `no_proxy`, separated by commas or spaces. An entry is `*`, a name that covers its subdomains
/// (`example.com`, `.example.com`), an address or a network in CIDR form, each with an optional port.
package struct ProxyExceptions: Sendable, Equatable {
    private struct Entry: Sendable, Equatable {
        var host: String
        var port: Int?
        var network: IPNetwork?
    }

    private var entries: [Entry] = []
    private var isEverything = false

    package init(_ list: String) {
        for word in list.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            if word == "*" {
                isEverything = true
                continue
            }
            var host = word.lowercased()
            var port: Int?
            if host.utf8.first == UInt8(ascii: "["), let end = host.utf8.firstIndex(of: UInt8(ascii: "]")) {
                let after = host[host.utf8.index(after: end)...]
                port = after.utf8.first == UInt8(ascii: ":") ? Int(after.dropFirst()) : nil
                host = String(host[host.utf8.index(after: host.startIndex)..<end])
            } else if host.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 1,
                let colon = host.utf8.firstIndex(of: UInt8(ascii: ":"))
            {
                port = Int(host[host.utf8.index(after: colon)...])
                host = String(host[..<colon])
            }
            while host.utf8.first == UInt8(ascii: ".") { host.removeFirst() }
            guard !host.isEmpty else { continue }
            entries.append(Entry(host: host, port: port, network: IPNetwork(host)))
        }
    }

    package func contains(host: String, port: Int) -> Bool {
        if isEverything { return true }
        let address = IPNetwork(host)
        return entries.contains { entry in
            if let wanted = entry.port, wanted != port { return false }
            if let network = entry.network { return address.map(network.contains) ?? false }
            if host.utf8.elementsEqual(entry.host.utf8) { return true }
            return host.utf8.count > entry.host.utf8.count
                && host.utf8.reversed().starts(with: entry.host.utf8.reversed())
                && host.utf8.dropLast(entry.host.utf8.count).last == UInt8(ascii: ".")
        }
    }
}
