internal import Glibc
package import NIOCore

/// An IP address, or a network in CIDR form. An IPv4 address that is mapped into IPv6 counts as itself.
package struct IPNetwork: Sendable, Hashable {
    /// 4 or 16.
    private let bytes: [UInt8]
    private let prefix: Int

    /// - Returns: nil where the text is neither.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first.map({ String($0) }) else { return nil }
        var storage = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, address, &storage) == 1 {
            storage.removeLast(12)
        } else if inet_pton(AF_INET6, address, &storage) != 1 {
            return nil
        } else if storage.starts(with: Self.mapped), parts.count == 1 {
            storage.removeFirst(12)
        }
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy(\.isDigit), let bits = Int(parts[1]), bits <= storage.count * 8 else {
                return nil
            }
            prefix = bits
        } else {
            prefix = storage.count * 8
        }
        bytes = storage
    }

    /// - Returns: nil for the path of a Unix socket.
    package init?(_ address: SocketAddress) {
        guard let text = address.ipAddress else { return nil }
        self.init(text)
    }

    /// - Parameters:
    ///   - address: 4 or 16 bytes.
    ///   - prefix: bits; nil: all, for one address.
    init(address: some Sequence<UInt8>, prefix: Int? = nil) {
        bytes = Array(address)
        self.prefix = prefix ?? bytes.count * 8
    }

    /// Whether it is one address.
    package var isAddress: Bool { prefix == bytes.count * 8 }

    /// Whether all addresses of another network are in this one.
    package func contains(_ other: IPNetwork) -> Bool {
        guard bytes.count == other.bytes.count, prefix <= other.prefix else { return false }
        return (0..<prefix).allSatisfy { bit in
            (bytes[bit / 8] ^ other.bytes[bit / 8]) & (0x80 >> UInt8(bit % 8)) == 0
        }
    }

    /// `::ffff:0:0/96`
    private static let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]

    /// The IPv4 address to which packets for this IPv6 address are translated: of NAT64 (RFC 6052), SIIT (RFC 2765), 6to4
    /// (RFC 3056) and the deprecated IPv4-compatible form; nil where there is none.
    package var translated: IPNetwork? {
        guard bytes.count == 16, isAddress else { return nil }
        if Self.translatedBefore.contains(where: { $0.contains(self) }) { return IPNetwork(address: bytes[12...]) }
        return Self.sixToFour.contains(self) ? IPNetwork(address: bytes[2..<6]) : nil
    }

    private static let translatedBefore = networks("64:ff9b::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "::/96")
    private static let sixToFour = IPNetwork(address: [0x20, 0x02] + [UInt8](repeating: 0, count: 14), prefix: 16)

    static func networks(_ texts: String...) -> [IPNetwork] { texts.compactMap { IPNetwork($0) } }
}

extension IPNetwork: CustomStringConvertible {
    /// In CIDR form, without the prefix for one address.
    package var description: String {
        let length = isAddress ? "" : "/\(prefix)"
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return length }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) + length
    }
}

extension IPNetwork {
    /// Whether this is one address of the public internet: a unicast address that the registries of special-purpose
    /// addresses (RFC 6890, IANA, as of 2025) do not except. An address that is translated is public where its IPv4 address
    /// is.
    package var isPublic: Bool {
        guard isAddress else { return false }
        if let translated { return translated.isPublic }
        if Self.unicast4.contains(self) { return !Self.special4.contains { $0.contains(self) } }
        return Self.unicast6.contains { $0.contains(self) } && !Self.special6.contains { $0.contains(self) }
    }

    private static let unicast4 = IPNetwork(address: [0, 0, 0, 0], prefix: 0)
    private static let special4 = networks(
        // This network, private, shared by carriers, loopback, link-local, private.
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        // Protocol assignments, documentation, relays of 6to4, private, benchmarks, documentation.
        "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
        // Documentation, multicast, reserved with the broadcast address.
        "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4")

    /// All other addresses of IPv6 are loopback, unspecified, unique local, link-local, multicast, or not assigned.
    private static let unicast6 = networks("2000::/3")
    private static let special6 = networks(
        // Protocol assignments with Teredo and ORCHID, documentation, 6to4 that has no IPv4 address, documentation.
        "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
}
