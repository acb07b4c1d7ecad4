import Door
import HTTPTypes
import Testing

struct OriginCheckTests {
    private let check = OriginCheck(allowedOrigins: ["https://app.example"])

    private func passes(_ fields: HTTPFields, _ method: HTTPRequest.Method = .post) -> Bool {
        (try? check.check(method, fields, host: "door.example:8080")) != nil
    }

    @Test func `a change needs a sign that it comes from the door's own pages`() {
        #expect(passes([.secFetchSite: "same-origin"]))
        #expect(passes([.secFetchSite: "none"]))
        #expect(!passes([.secFetchSite: "same-site"]))
        #expect(!passes([.secFetchSite: "cross-site"]))
        #expect(!passes([.secFetchSite: "cross-site", .origin: "http://door.example:8080"]))
        #expect(passes([.origin: "http://Door.example:8080"]))
        #expect(!passes([.origin: "http://door.example"]))
        #expect(!passes([.origin: "http://evil.example"]))
        #expect(!passes([.origin: "null"]))
        #expect(!passes([:]))
    }

    @Test func `a configured origin may send changes`() {
        #expect(passes([.origin: "https://app.example", .secFetchSite: "cross-site"]))
        #expect(!passes([.origin: "https://app.example.evil"]))
    }

    @Test func `a bearer token needs no origin, a cookie does`() {
        #expect(passes([.authorization: "Bearer slu_x", .secFetchSite: "cross-site"]))
        #expect(!passes([.cookie: "session=x"]))
        #expect(!passes([.authorization: "Basic x"]))
    }

    @Test(arguments: [HTTPRequest.Method.get, .head, .options])
    func `a safe method is never refused`(_ method: HTTPRequest.Method) {
        #expect(passes([.secFetchSite: "cross-site"], method))
    }
}
