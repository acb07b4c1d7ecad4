import Door
import HTTPTypes
import Testing

struct RequestTargetTests {
    private func target(_ text: String, host: String = "localhost:8080") throws(Problem) -> RequestTarget {
        try RequestTarget(text, host: host)
    }

    @Test func `a path is split before its parts are decoded`() throws {
        #expect(try target("/uploads/a%20b/%E2%82%AC").path == ["uploads", "a b", "€"])
        #expect(try target("/").path == [])
        #expect(try target("/uploads/").path == ["uploads"])
        #expect(try target("//uploads//x").path == ["", "uploads", "", "x"])
        #expect(try target("/links/https%3A%2F%2Fa.example%3A443").path == ["links", "https://a.example:443"])
    }

    @Test(arguments: [
        "/a%2fb", "/https:%2f%2fa.example%2f..%2fb", "/https:%2f%2fa.example%2fb", "/file:%2f%2f%2fetc", "/%2e%2e/x",
        "/../x", "/./x", "/a%00", "/a%", "/a%4", "/a%zz", "/%ff", "/a#b", "uploads", "",
        "http:/x",
        "ftp://localhost:8080/",
    ])
    func `a path that could mean another resource is refused`(_ text: String) {
        let problem = #expect(throws: Problem.self) { try target(text) }
        #expect(problem?.status == .badRequest)
    }

    @Test func `an absolute target must name the host of the field Host`() throws {
        #expect(try target("http://localhost:8080/a?b=c").path == ["a"])
        #expect(try target("HTTP://LOCALHOST:8080").path == [])
        #expect(try target("https://localhost:8080?b=c").query["b"] == "c")
        #expect(throws: Problem.self) { try target("http://evil/a") }
        #expect(throws: Problem.self) { try target("http://localhost:8080@evil/a") }
    }

    @Test func `the query is decoded as a form, in its order`() throws {
        let query = try target("/a?x=1&x=2&name=two+words%21&flag&&empty=").query
        #expect(query["x"] == "1")
        #expect(query["name"] == "two words!")
        #expect(query["flag"] == "")
        #expect(query.items.map(\.name) == ["x", "x", "name", "flag", "empty"])
        #expect(throws: Problem.self) { try target("/a?x=%") }
        #expect(throws: Problem.self) { try target("/a?x%00=1") }
    }

    @Test func `an asterisk is the server itself`() throws { #expect(try target("*").isAsterisk) }
}
