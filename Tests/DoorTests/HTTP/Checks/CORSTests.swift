import Door
import HTTPTypes
import Testing

struct CORSTests {
    @Test func `a preflight learns the methods and fields`() {
        var fields: HTTPFields = [.vary: "Accept"]
        CORS.add(to: &fields, origin: "https://app.example", preflight: [.options, .patch])
        #expect(fields[.accessControlAllowOrigin] == "https://app.example")
        #expect(fields[.accessControlAllowMethods] == "OPTIONS, PATCH")
        #expect(fields[.accessControlAllowHeaders]?.contains("Upload-Checksum") == true)
        #expect(fields[.accessControlMaxAge] == "86400")
        #expect(fields[.vary] == "Accept, Origin")
        #expect(!fields.contains(.accessControlAllowCredentials))
    }

    @Test func `another request learns the fields it may read`() {
        var fields = HTTPFields()
        CORS.add(to: &fields, origin: "https://app.example", preflight: nil)
        #expect(fields[.accessControlExposeHeaders]?.contains("Upload-Expires") == true)
        #expect(!fields.contains(.accessControlAllowMethods))
    }

    @Test func `a request without an origin gets only Vary`() {
        var fields = HTTPFields()
        CORS.add(to: &fields, origin: nil, preflight: nil)
        #expect(fields == [.vary: "Origin"])
    }

    @Test func `an OPTIONS without the method it asks for is not a preflight`() {
        #expect(CORS.isPreflight(.options, [.origin: "x", .accessControlRequestMethod: "PATCH"]))
        #expect(!CORS.isPreflight(.options, [.origin: "x"]))
        #expect(!CORS.isPreflight(.post, [.origin: "x", .accessControlRequestMethod: "PATCH"]))
    }
}
