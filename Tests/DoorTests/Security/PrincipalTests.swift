import Commands
import FlowText
import Testing
import Uploads

@testable import Door

struct PrincipalTests {
    private let routes = try? UploadRoutes(reading: YAMLText.parse(Array("routes: {a: {}, b: {}, c: {}}".utf8)))

    @Test func `a token limited to types and destinations submits nothing else`() {
        var principal = Principal(token: "t", name: "feed", scopes: [.submit])
        let (host, other) = (
            Destination(scheme: "https", host: "a.example.com", port: 443),
            Destination(scheme: "https", host: "a.example.com", port: 8443)
        )
        #expect(principal.objection(toType: "exec", destination: .none) == nil)
        principal.types = ["webhook"]
        principal.destinations = [host]
        #expect(principal.objection(toType: "webhook", destination: host) == nil)
        #expect(principal.objection(toType: "exec", destination: host)?.contains("it may submit webhook") == true)
        for destination in [other, .none, .file] {
            #expect(principal.objection(toType: "webhook", destination: destination)?.contains("to https://a") == true)
        }
    }

    @Test func `a token limited to routes names one of them`() throws {
        let routes = try #require(routes)
        let limited = Principal(token: "t", name: "studio", scopes: [.upload], routes: ["b", "gone"])
        #expect(routes.names(for: limited) == ["b"] && routes.names(for: nil) == ["a", "b", "c"])
        #expect(try routes.route("b", for: limited)?.name == "b")
        #expect(try routes.route(nil, for: nil) == nil && routes.route("c", for: nil)?.name == "c")
        for name in ["a", "gone", "x", nil] {
            let error = try #require(throws: UploadError.self) { try routes.route(name, for: limited) }
            #expect(error.code == .invalid && error.message.hasSuffix("it may take “b”."), "\(error)")
        }
    }
}
