import Door
import HTTPTypes
import Testing

struct RouteTableTests {
    private func match(_ path: [String], _ endpoints: String...) -> (path: String, parameters: [String: String])? {
        EndpointTable(endpoints.map { Endpoint($0, methods: [:]) }).match(path).map {
            ($0.endpoint.path, $0.parameters)
        }
    }

    @Test func `a part in braces matches any part but an empty one`() {
        #expect(match(["commands", "a b", "timeline"], "/commands/{id}/timeline")?.parameters == ["id": "a b"])
        #expect(match(["commands", "", "timeline"], "/commands/{id}/timeline") == nil)
        #expect(match(["commands", "a"], "/commands/{id}/timeline") == nil)
        #expect(match(["commands", "a", "timeline", "b"], "/commands/{id}/timeline") == nil)
        #expect(match([], "/")?.path == "/")
    }

    @Test func `a constant part has precedence, in any order of the endpoints`() {
        #expect(match(["commands", "bulk"], "/commands/{id}", "/commands/bulk")?.path == "/commands/bulk")
        #expect(match(["commands", "bulk"], "/commands/bulk", "/commands/{id}")?.path == "/commands/bulk")
        #expect(match(["a", "b", "c"], "/{x}/b/c", "/a/{y}/{z}")?.path == "/a/{y}/{z}")
    }

    @Test func `endpoints of one path share their methods, and the first has precedence`() throws {
        let first = Endpoint(
            "/uploads", methods: [.post: .init(scopes: [.upload]) { _ in TestEndpoints.text("first") }])
        let second = Endpoint(
            "/uploads",
            methods: [
                .post: .init(scopes: nil) { _ in TestEndpoints.text("second") },
                .get: .init(scopes: nil) { _ in TestEndpoints.text("page") },
            ])
        let found = try #require(EndpointTable([first, second]).match(["uploads"])?.endpoint)
        #expect(Set(found.methods.keys) == [.get, .post] && found.methods[.post]?.scopes == [.upload])
    }
}
