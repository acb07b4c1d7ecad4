import Commands
import Testing

@testable import Door

struct RoutePayloadTests {
    private var facts: RouteFacts {
        var facts = RouteFacts(id: CommandID(high: 1, low: 2))
        facts.name = "a b"
        facts.file = "/spool/x"
        return facts
    }

    private func filled(_ payload: JSONValue, type: String = "upload") throws(RouteTemplateError) -> JSONValue {
        try RoutePayload(payload, type: type).filled(facts)
    }

    @Test func `strings are filled at any depth by their place, and other values stay`() throws {
        let payload: JSONValue = [
            "to": "https://h.example.com/{name}", "text": "{name}", "number": 1, "list": ["{name}", true, nil],
            "headers": ["X-Name": "{name}"], "{name}": "key", "json": ["to": "{name}", "x": "https://h/{name}"],
        ]
        let expected: JSONValue = [
            "to": "https://h.example.com/a%20b", "text": "a b", "number": 1, "list": ["a b", true, nil],
            "headers": ["X-Name": "a b"], "{name}": "key", "json": ["to": "a b", "x": "https://h/a%20b"],
        ]
        #expect(try filled(payload, type: "request") == expected)
    }

    @Test func `a payload without placeholders stays as it is`() throws {
        let payload: JSONValue = ["file": "relative", "to": "nowhere", "url": 3]
        #expect(try filled(payload) == payload)
    }

    @Test func `the place of a template that cannot be used is a pointer`() throws {
        let error = try #require(throws: RouteTemplateError.self) {
            try RoutePayload(["a/b": [["x": "{nme}"]]], type: "noop")
        }
        #expect(error.pointer == "/a~1b/0/x")
    }

    @Test func `a path or an argument of a program never leaves its place`() throws {
        var facts = facts
        facts.name = "../../root/.ssh/authorized_keys"
        for payload in [
            ["program": "p", "directory": "/srv/{name}"], ["program": "p", "stdout": ["to": "/srv/{name}"]],
            ["file": "/srv/{name}"], ["url": "https://h/", "saveTo": "/srv/{name}"], ["key": "in/{name}"],
        ] as [JSONValue] {
            let template = try RoutePayload(payload, type: "exec")
            #expect(throws: RouteTemplateError.self, "\(payload.text)") { try template.filled(facts) }
        }
        facts.name = "-rf"
        let arguments = try RoutePayload(["arguments": ["--", "{name}"]], type: "exec")
        #expect(throws: RouteTemplateError.self) { try arguments.filled(facts) }
    }

    @Test func `values of headers and of S3 metadata are ASCII`() throws {
        var facts = facts
        facts.name = "ü"
        for payload in [["headers": ["X-Name": "{name}"]], ["metadata": ["name": "{name}"]]] as [JSONValue] {
            let template = try RoutePayload(payload, type: "s3")
            #expect(throws: RouteTemplateError.self) { try template.filled(facts) }
        }
    }

    @Test func `for a type of another program only a whole URL is one`() throws {
        let payload: JSONValue = ["to": "{name}", "link": "HTTPS://h.example.com/{name}"]
        #expect(try filled(payload, type: "mail") == ["to": "a b", "link": "HTTPS://h.example.com/a%20b"])
    }
}
