import Commands
import TestSupport
import Testing

@testable import Transfers

@Suite struct RedirectRulesTests {
    private static func rules(_ url: String = "https://a.test/d/x?q=1", _ method: String = "GET") throws
        -> RedirectRules
    {
        RedirectRules(try ResourceURL(url), method: method)
    }

    private static func refusal(_ step: RedirectStep) -> CommandFailure? {
        guard case .refused(let failure) = step else { return nil }
        return failure
    }

    @Test(arguments: ["GET", "HEAD"], [301, 302, 303, 307, 308])
    func `GET and HEAD are redirected and keep their method`(_ method: String, _ status: Int) throws {
        var rules = try Self.rules("https://a.test/d/x", method)
        #expect(
            try rules.step(status: status, location: "y") == .follow(ResourceURL("https://a.test/d/y"), method: method))
        #expect(rules.hasRedirected)
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "get"], [301, 302, 303, 307, 308])
    func `other methods are not redirected`(_ method: String, _ status: Int) throws {
        var rules = try Self.rules("https://a.test/d/x", method)
        #expect(rules.step(status: status, location: "https://b.test/y") == .none, "HTTPVerdict judges it")
        #expect(!rules.hasRedirected)
    }

    @Test(arguments: [200, 206, 300, 304, 305, 306, 309, 404, 503])
    func `any other status is not a redirect`(_ status: Int) throws {
        var rules = try Self.rules()
        #expect(rules.step(status: status, location: "/y") == .none)
    }

    @Test func `five redirects are followed and the sixth is final`() throws {
        var rules = try Self.rules()
        for number in 1...5 {
            #expect(
                try rules.step(status: 302, location: "/\(number)")
                    == .follow(ResourceURL("https://a.test/\(number)"), method: "GET"))
        }
        let failure = Self.refusal(rules.step(status: 302, location: "/6"))
        #expect(failure?.fault == .final)
        #expect(failure?.reason.contains("after 5 redirects") == true)
    }

    @Test(arguments: [["/d/x?q=1"], ["/y", "/d/x?q=1"], ["/y", "/z", "/y"], ["?q=1"], ["#f"]])
    func `a loop is final`(_ locations: [String]) throws {
        var rules = try Self.rules()
        for location in locations.dropLast() {
            #expect(Self.refusal(rules.step(status: 302, location: location)) == nil)
        }
        let failure = Self.refusal(rules.step(status: 302, location: locations.last))
        #expect(failure?.fault == .final)
        #expect(failure?.reason.contains("a loop") == true)
    }

    @Test func `https does not become http`() throws {
        var rules = try Self.rules()
        let failure = Self.refusal(rules.step(status: 301, location: "http://a.test/d/x"))
        #expect(failure?.fault == .final)
        #expect(failure?.reason.contains("leave TLS") == true)
        var plain = try Self.rules("http://a.test/x")
        #expect(
            try plain.step(status: 301, location: "https://a.test/x")
                == .follow(ResourceURL("https://a.test/x"), method: "GET"))
        #expect(plain.hasLeftOrigin)
    }

    @Test(arguments: [
        nil, "", " ", "ftp://b.test/", "file:///etc/passwd", "https://user:hush@b.test/", "https:///x", "//",
        "mailto:x@y",
        "https://b.test:99999/", "https://[::1/x", "/%zz", "javascript:alert(1)",
    ])
    func `a location that is not a http URL is final`(_ location: String?) throws {
        var rules = try Self.rules()
        let failure = Self.refusal(rules.step(status: 302, location: location))
        #expect(failure?.fault == .final)
        #expect(failure?.reason.contains("hush") == false)
        #expect(!rules.hasRedirected)
    }

    @Test(arguments: [
        ("y", "https://a.test/d/y"), ("../y", "https://a.test/y"), ("?z=2", "https://a.test/d/x?z=2"),
        ("//b.test/y", "https://b.test/y"), ("/y#part", "https://a.test/y"), (" /y ", "https://a.test/y"),
        ("/my file.pdf", "https://a.test/my%20file.pdf"), ("/日", "https://a.test/%E6%97%A5"),
        ("/y?f[a]=b|c", "https://a.test/y?f%5Ba%5D=b%7Cc"), ("https://[::1]:8443/[x]", "https://[::1]:8443/%5Bx%5D"),
        ("//[::1]/y", "https://[::1]/y"), ("/y%20z", "https://a.test/y%20z"),
    ])
    func `a location is resolved against the current URL`(_ location: String, _ url: String) throws {
        var rules = try Self.rules()
        #expect(try rules.step(status: 302, location: location) == .follow(ResourceURL(url), method: "GET"))
    }

    @Test(arguments: [
        ("https://a.test/y", true), ("https://A.TEST:443/y", true), ("/y", true), ("https://b.test/y", false),
        ("https://a.test:8443/y", false), ("https://a.test.b.test/y", false), ("https://xa.test/y", false),
    ])
    func `secrets go to the submitted origin only`(_ location: String, _ sendsSecrets: Bool) throws {
        var rules = try Self.rules()
        #expect(rules.sends(field: "Authorization"))
        _ = rules.step(status: 302, location: location)
        for name in ["Authorization", "authorization", "Cookie", "X-Api-Key", "X-Auth-Token", "X-Amz-Security-Token"] {
            #expect(rules.sends(field: name) == sendsSecrets)
        }
        for name in ["X-Tag", "Accept", "Range", "If-Range", "If-None-Match", "User-Agent"] {
            #expect(rules.sends(field: name))
        }
    }

    @Test func `secrets stay left out on the way back, and a credential goes by the current origin`() throws {
        var rules = try Self.rules()
        #expect(rules.credentialDestination == Destination("https://a.test"))
        _ = rules.step(status: 302, location: "https://b.test/y")
        #expect(rules.credentialDestination == Destination("https://b.test"))
        _ = rules.step(status: 302, location: "https://a.test/z")
        #expect(rules.credentialDestination == Destination("https://a.test"))
        #expect(!rules.sends(field: "Authorization"))
        _ = rules.step(status: 302, location: "/w")
        #expect(!rules.sends(field: "Authorization"))
    }

    @Test func `random locations end every chain without a trap`() throws {
        var random = SeededRandom.announced("redirects")
        let parts = [
            "https:", "http:", "//", "/", "a.test", "b.test", "[", "]", "::1", "?", "#", "..", "%", "%41", " ", "é",
            "\u{0}", "@", ":", "\\",
        ]
        for _ in RandomRounds("redirects", 500...5000) {
            var rules = try Self.rules()
            var followed = 0
            while true {
                let count = random.number(in: 0..<8)
                let location = (0..<count).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
                guard case .follow(let url, _) = rules.step(status: 302, location: location) else { break }
                #expect(url.scheme == .https)
                followed += 1
            }
            #expect(followed <= 5)
        }
    }
}
