internal import Glibc

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
