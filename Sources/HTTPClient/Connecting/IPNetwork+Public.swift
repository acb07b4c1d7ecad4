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
