import Testing

@testable import HTTPClient

struct IPNetworkTests {
    @Test(arguments: [
        // Unspecified, private, carriers, loopback, link-local.
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.1.2.3",
        "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.168.0.1",
        // Assignments, documentation, relays, benchmarks, multicast, reserved, broadcast.
        "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.9",
        "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        // The same, translated: mapped, compatible, SIIT, NAT64, 6to4.
        "::ffff:127.0.0.1", "::ffff:10.1.2.3", "::ffff:169.254.169.254", "::127.0.0.1", "::10.0.0.1",
        "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::192.168.1.1", "2002:7f00:1::",
        "2002:c0a8:101::1", "2002:a00:1:abcd::1",
        // IPv6: unspecified, loopback, unique local, link-local, site-local, multicast, Teredo, documentation, discard,
        // NAT64 of local use.
        "::", "::1", "fc00::1", "fd12:3456:789a::1", "fe80::1", "febf::1", "fec0::1", "ff02::1", "2001::1",
        "2001:db8::1",
        "3fff::1", "100::1", "64:ff9b:1::1", "4000::1",
    ])
    func `a special address is not public`(_ text: String) throws {
        #expect(try !#require(IPNetwork(text)).isPublic)
    }

    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
        "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.167.255.255", "192.169.0.0",
        "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
        "2001:200::1", "2600::1", "2a00:1450:4001::1", "3ffe::1",
    ])
    func `an address of the internet is public`(_ text: String) throws {
        #expect(try #require(IPNetwork(text)).isPublic)
    }

    @Test(arguments: ["10.0.0.0/8", "0.0.0.0/0", "2000::/3", "1.1.1.0/24"])
    func `a network is not a public address`(_ text: String) throws {
        let network = try #require(IPNetwork(text))
        #expect(!network.isPublic)
        #expect(network.description == text)
    }

    @Test(arguments: [
        "", "10", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "::/129", "127.1", "0x7f.0.0.1",
        "localhost",
        "10.0.0.0/8/8", "[::1]", "fe80::1%eth0", "1.2.3.4 ",
    ])
    func `other texts are not networks`(_ text: String) {
        #expect(IPNetwork(text) == nil)
    }

    @Test func `a network has its addresses, and those mapped into IPv6`() throws {
        let network = try #require(IPNetwork("10.1.0.0/16"))
        for (text, isInside) in [("10.1.2.3", true), ("::ffff:10.1.2.3", true), ("10.2.0.0", false), ("::1", false)] {
            #expect(network.contains(try #require(IPNetwork(text))) == isInside, "\(text)")
        }
        #expect(try !network.contains(#require(IPNetwork("10.0.0.0/8"))))
    }
}
