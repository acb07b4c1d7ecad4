internal import Glibc

/// A proxy for HTTP (RFC 9110, section 3.7), and for HTTPS by CONNECT.
package struct HTTPProxy: Sendable, Hashable, CustomStringConvertible {
    package var host: String
    package var port: Int
    /// The value of `Proxy-Authorization`; a secret.
    package var authorization: String?

    /// Reads `[http://][user:password@]host[:port]`; the port is 1080 where none is said, as curl has it.
    /// - Throws: ``ProxyError``, which quotes no password.
    package init(_ text: String) throws(ProxyError) {
        var rest = Substring(text)
        if let range = rest.firstRange(of: "://") {
            let scheme = rest[..<range.lowerBound].lowercased()
            guard scheme == "http" else {
                throw ProxyError("a proxy by “\(scheme)” is not supported; name one by http://")
            }
            rest = rest[range.upperBound...]
        }
        rest = rest.prefix { $0 != "/" }
        if let at = rest.utf8.lastIndex(of: UInt8(ascii: "@")) {
            let user = PercentEncoding.decoded(rest[..<at].utf8)
            authorization = "Basic \(Base64.encode(user))"
            rest = Substring(rest[at...].utf8.dropFirst())
        }
        var port = "1080"
        if rest.utf8.first == UInt8(ascii: "[") {
            guard let end = rest.utf8.firstIndex(of: UInt8(ascii: "]")) else {
                throw ProxyError("its address has no closing bracket")
            }
            host = String(rest[rest.utf8.index(after: rest.startIndex)..<end])
            let after = rest[rest.utf8.index(after: end)...]
            if after.utf8.first == UInt8(ascii: ":") { port = String(after.dropFirst()) }
        } else if let colon = rest.utf8.lastIndex(of: UInt8(ascii: ":")) {
            host = rest[..<colon].lowercased()
            port = String(rest[rest.utf8.index(after: colon)...])
        } else {
            host = rest.lowercased()
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), let number = Int(port),
            (1...65_535).contains(number)
        else { throw ProxyError("it has no valid host and port") }
        self.port = number
    }

    /// Without the password.
    package var description: String { "http://\(host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host):\(port)" }
}

/// Why a proxy's URL cannot be used, in a sentence.
package struct ProxyError: Error, Equatable, CustomStringConvertible {
    package let description: String
    /// The environment variable that holds it, where one does.
    package private(set) var variable: String?

    init(_ description: String, variable: String? = nil) {
        self.description = description
        self.variable = variable
    }
}

/// Which requests go through a proxy. As curl does it (curl(1), “ENVIRONMENT”): `https_proxy` or `HTTPS_PROXY` for https,
/// `http_proxy` in lower case only for http, `all_proxy` or `ALL_PROXY` for what is left; `no_proxy` or `NO_PROXY` lists
/// what goes without. What is configured for an origin goes before that.
package struct ProxySettings: Sendable, Equatable {
    /// For http and https alike; nil: as ``http`` and ``https`` say; nil inside: none.
    package var general: HTTPProxy??
    package var http: HTTPProxy?
    package var https: HTTPProxy?
    package var exceptions = ProxyExceptions("")
    /// Nil inside: without a proxy.
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

    /// - Returns: nil for a request that goes without a proxy.
    package func proxy(for origin: HTTPOrigin) -> HTTPProxy? {
        if let own = byOrigin[origin] { return own }
        if exceptions.contains(host: origin.host, port: origin.port) { return nil }
        if let general { return general }
        return origin.isEncrypted ? https : http
    }

    /// In words, for people; without passwords. Nil: every request goes without a proxy.
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

/// The list `no_proxy`: `*`, names that cover their subdomains (`example.com`, `.example.com`), addresses, networks in CIDR
/// form, each with an optional port; separated by commas or spaces.
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

/// An address, or a network in CIDR form.
struct IPNetwork: Sendable, Equatable {
    private var bytes: [UInt8]
    private var prefix: Int

    /// - Returns: nil for what is neither.
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first.map({ String(Substring($0)) }) else { return nil }
        var storage = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, address, &storage) == 1 {
            bytes = Array(storage.prefix(4))
        } else if inet_pton(AF_INET6, address, &storage) == 1 {
            bytes = storage
        } else {
            return nil
        }
        prefix = bytes.count * 8
        if parts.count == 2 {
            guard let bits = Int(Substring(parts[1])), (0...prefix).contains(bits) else { return nil }
            prefix = bits
        }
    }

    func contains(_ address: IPNetwork) -> Bool {
        guard bytes.count == address.bytes.count else { return false }
        for bit in 0..<prefix {
            let mask: UInt8 = 0x80 >> UInt8(bit % 8)
            if (bytes[bit / 8] ^ address.bytes[bit / 8]) & mask != 0 { return false }
        }
        return true
    }
}

/// RFC 3986, section 2.1.
enum PercentEncoding {
    /// What is not valid is kept as it is.
    static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}
