import HTTPTypes
import Testing

@testable import Door

struct ForwardedAddressTests {
    private let forwarded = ForwardedAddress(trustedProxies: ["10.0.0.0/8", "2001:db8::/32", "nonsense"])

    private func client(_ peer: String?, _ value: String, _ name: HTTPField.Name = .xForwardedFor) -> String {
        forwarded.client(peer: peer, fields: [name: value])
    }

    @Test func `only a trusted proxy is believed`() {
        #expect(client("192.0.2.1", "198.51.100.1") == "192.0.2.1")
        #expect(client("10.1.2.3", "198.51.100.1") == "198.51.100.1")
        #expect(client("::ffff:10.1.2.3", "198.51.100.1") == "198.51.100.1")
        #expect(client(nil, "198.51.100.1") == "unix")
        #expect(ForwardedAddress(trustedProxies: ["unix"]).client(peer: nil, fields: [.xForwardedFor: "::2"]) == "::2")
    }

    @Test func `the last untrusted address counts, whatever the client claimed before it`() {
        #expect(client("10.1.2.3", "1.1.1.1, 198.51.100.1, 10.9.9.9") == "198.51.100.1")
        #expect(client("10.1.2.3", "10.0.0.1") == "10.0.0.1")
        #expect(client("10.1.2.3", "1.1.1.1, unknown") == "10.1.2.3")
        #expect(client("10.1.2.3", "") == "10.1.2.3")
        // A network is not an address.
        #expect(client("10.1.2.3", "198.51.100.0/24") == "10.1.2.3")
        #expect(client("10.1.2.3", "198.51.100.1/32") == "10.1.2.3")
    }

    @Test func `addresses may have ports and brackets`() {
        #expect(client("10.1.2.3", "198.51.100.1:4711") == "198.51.100.1")
        #expect(client("10.1.2.3", "[2001:db9::1]:4711") == "2001:db9::1")
        #expect(client("2001:db8::5", "2001:db9::1") == "2001:db9::1")
    }

    @Test(arguments: [
        ("10.1.2.3", "X-Forwarded-Proto: https", "https"), ("10.1.2.3", "X-Forwarded-Proto: HTTPS, http", "https"),
        ("10.1.2.3", "Forwarded: for=1.1.1.1;proto=\"https\"", "https"),
        ("10.1.2.3", "X-Forwarded-Proto: http", "http"),
        ("192.0.2.1", "X-Forwarded-Proto: https", "unknown"), ("10.1.2.3", "X-Forwarded-Proto: ws", "unknown"),
        (nil, "X-Forwarded-Proto: https", "unknown"), ("10.1.2.3", "Forwarded: for=1.1.1.1", "asConnected"),
        ("192.0.2.1", "X-Other: https", "asConnected"),
    ])
    func `only a trusted proxy states the scheme`(_ peer: String?, _ field: String, _ scheme: String) throws {
        let parts = field.split(separator: ": ", maxSplits: 1).map(String.init)
        let fields: HTTPFields = [try #require(HTTPField.Name(parts[0])): parts[1]]
        let found: String =
            switch forwarded.scheme(peer: peer, fields: fields) {
            case .asConnected: "asConnected"
            case .stated(let scheme): scheme
            case .unknown: "unknown"
            }
        #expect(found == scheme)
    }

    @Test func `the standard field Forwarded is understood`() {
        let value = #"for=1.1.1.1;proto=http, By=x; For="[2001:db9::1]:47""#
        #expect(client("10.1.2.3", value, .forwarded) == "2001:db9::1")
        #expect(client("10.1.2.3", "for=_hidden", .forwarded) == "10.1.2.3")
    }
}
