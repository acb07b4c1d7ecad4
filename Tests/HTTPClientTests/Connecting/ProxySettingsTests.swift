import Testing

@testable import HTTPClient

@Suite struct ProxySettingsTests {
    private let plain = HTTPOrigin(isEncrypted: false, host: "media.example.com", port: 80)
    private let secure = HTTPOrigin(isEncrypted: true, host: "media.example.com", port: 443)

    private func settings(_ environment: [String: String]) throws -> ProxySettings {
        try ProxySettings { environment[$0] }
    }

    @Test(
        arguments: [
            (["http_proxy": "p:1"], "http://p:1", nil),
            // The client of a CGI program could set this one by a header field “Proxy” (httpoxy, CVE-2016-5385).
            (["HTTP_PROXY": "p:1"], nil, nil),
            (["https_proxy": "p:1"], nil, "http://p:1"),
            (["HTTPS_PROXY": "http://p:1/"], nil, "http://p:1"),
            (["https_proxy": "p:1", "HTTPS_PROXY": "q:2"], nil, "http://p:1"),
            (["all_proxy": "p:1", "https_proxy": "q:2"], "http://p:1", "http://q:2"),
            (["ALL_PROXY": "p"], "http://p:1080", "http://p:1080"),
            (["http_proxy": "p:1", "no_proxy": "other.example.com"], "http://p:1", nil),
            (["http_proxy": "p:1", "no_proxy": "*"], nil, nil),
            (["http_proxy": ""], nil, nil),
        ] as [([String: String], String?, String?)])
    func `the environment decides as it does for curl`(
        _ environment: [String: String], _ http: String?, _ https: String?
    ) throws {
        let settings = try settings(environment)
        #expect(settings.proxy(for: plain)?.description == http)
        #expect(settings.proxy(for: secure)?.description == https)
    }

    @Test(arguments: [
        ("example.com", true), (".example.com", true), ("EXAMPLE.com", true), ("media.example.com", true),
        ("ample.com", false), ("media.example.com.evil.test", false), ("example.com:80", true),
        ("example.com:81", false), ("other.test, example.com", true), ("other.test example.com", true), ("", false),
        (",,", false),
    ])
    func `a name in no_proxy covers its subdomains`(_ list: String, _ isCovered: Bool) {
        #expect(ProxyExceptions(list).contains(host: "media.example.com", port: 80) == isCovered)
    }

    @Test(arguments: [
        ("10.1.2.3", "10.1.2.3", true), ("10.1.0.0/16", "10.1.2.3", true), ("10.1.0.0/16", "10.2.2.3", false),
        ("10.1.2.3", "10.1.2.33", false), ("::1", "::1", true), ("[::1]:8080", "::1", false), ("[::1]", "::1", true),
        ("fd00::/8", "fd12::1", true), ("fd00::/8", "fe80::1", false), ("0.0.0.0/0", "192.0.2.1", true),
        ("10.0.0.0/33", "10.0.0.1", false),
    ])
    func `an address in no_proxy may be a network`(_ list: String, _ host: String, _ isCovered: Bool) {
        #expect(ProxyExceptions(list).contains(host: host, port: 80) == isCovered)
    }

    @Test func `a proxy's user is sent as basic authentication and never shown`() throws {
        let proxy = try HTTPProxy("http://me:se%40cret@proxy.example.com:3128")
        #expect(proxy.authorization == "Basic \(Base64.encode("me:se@cret".utf8))")
        #expect(proxy.host == "proxy.example.com" && proxy.port == 3128)
        #expect(!"\(proxy)".contains("cret"))
    }

    @Test(arguments: ["https://p:1", "socks5://p:1", "http://", "p:0", "p:port", "[::1:80"])
    func `a proxy that cannot be used is refused, by its variable`(_ text: String) {
        let error = #expect(throws: ProxyError.self) { try settings(["https_proxy": text]) }
        #expect(error?.variable == "https_proxy")
    }
}
