import Commands
import TestSupport
import Testing

@testable import Door

struct RouteTemplateTests {
    private func facts(_ name: String? = "a b.mp4", _ metadata: [String: String] = [:]) -> RouteFacts {
        var facts = RouteFacts(id: CommandID(high: 1, low: 2))
        facts.name = name
        facts.metadata = metadata
        facts.file = "/data/spool/x"
        facts.size = 12
        facts.sha256 = [UInt8](repeating: 0xAB, count: 32)
        facts.token = "t0"
        return facts
    }

    private func filled(
        _ text: String, _ context: RouteTemplate.Context = .text, _ facts: RouteFacts? = nil
    ) throws(RouteTemplateError) -> String {
        try RouteTemplate(text, context).filled(facts ?? self.facts())
    }

    @Test func `each placeholder is a fact of the upload`() throws {
        let all = "{name}|{contentType}|{size}|{id}|{token}|{file}|{metadata.k}"
        #expect(
            try filled(all, .text, facts("n", ["k": "v"]))
                == "n|application/octet-stream|12|\(CommandID(high: 1, low: 2))|t0|/data/spool/x|v")
        #expect(try filled("{sha256}").count == 64 && filled("{sha256}").hasPrefix("abab"))
    }

    @Test func `double braces are braces`() throws {
        #expect(try filled(#"{{"name":"{name}"}}"#) == #"{"name":"a b.mp4"}"#)
        #expect(try filled("{{name}}") == "{name}")
        #expect(try filled("{{{name}}}") == "{a b.mp4}")
    }

    @Test(arguments: ["{nam}", "{}", "{metadata.}", "{Name}", "{ name }", "{name", "name}", "a } b", #"{"a":1}"#])
    func `an unknown placeholder and a brace alone are refused`(text: String) {
        let error = #expect(throws: RouteTemplateError.self) { try RouteTemplate(text) }
        #expect(error?.problem.contains("{{") == true || error?.problem.contains("}}") == true, "\(text)")
    }

    @Test func `the known placeholders are named where one is unknown`() {
        let error = #expect(throws: RouteTemplateError.self) { try RouteTemplate("{filename}") }
        #expect(error?.problem.contains("{name}, {path}, {contentType}") == true)
    }

    @Test(arguments: [
        ("a b.mp4", "a%20b.mp4"), ("ü€😀", "%C3%BC%E2%82%AC%F0%9F%98%80"), ("a?b#c&d=e", "a%3Fb%23c%26d%3De"),
        ("%2e%2e", "%252e%252e"), ("..a", "..a"), ("a+b;c:d@e", "a%2Bb%3Bc%3Ad%40e"), (#""><svg>"#, "%22%3E%3Csvg%3E"),
    ])
    func `a value in a URL is one percent-encoded segment`(name: String, encoded: String) throws {
        #expect(
            try filled("https://h.example.com/in/{name}", .url, facts(name)) == "https://h.example.com/in/\(encoded)")
        #expect(
            try filled("https://h.example.com/in?n={name}&x=1", .url, facts(name))
                == "https://h.example.com/in?n=\(encoded)&x=1")
    }

    @Test(arguments: [".", "..", "", "a/b", "../../etc/passwd", "/", "a\\b", "a\u{0}b", "a\nb", "\u{7F}"])
    func `a value that leads out of its directory is refused in URLs, paths and names`(name: String) {
        for (text, context) in [
            ("https://h.example.com/in/{name}", RouteTemplate.Context.url), ("file:///srv/in/{name}", .url),
            ("file:/srv/{name}", .url), ("https://h.example.com/{name}/x", .url),
            ("https://h.example.com/{name}?q=1", .url), ("/srv/in/{name}", .path), ("in/{name}", .name),
            ("{name}", .name),
        ] {
            #expect(throws: RouteTemplateError.self, "\(text)") { try filled(text, context, facts(name)) }
        }
    }

    @Test func `the path in the folder of a client is several segments, each checked`() throws {
        let inFolder = facts("x y.txt", ["relativePath": "a/b ü/x y.txt"])
        #expect(try filled("https://h/in/{path}", .url, inFolder) == "https://h/in/a/b%20%C3%BC/x%20y.txt")
        #expect(try filled("https://h/in?p={path}", .url, inFolder) == "https://h/in?p=a%2Fb%20%C3%BC%2Fx%20y.txt")
        #expect(try filled("/srv/{path}", .path, inFolder) == "/srv/a/b ü/x y.txt")
        #expect(try filled("in/{path}.gz", .key, inFolder) == "in/a/b ü/x y.txt.gz")
        for path in ["", "null"] {
            #expect(try filled("in/{path}", .key, facts("x", ["relativePath": path])) == "in/x")
        }
        for path in ["../x", "a/../x", "a//x", "/x", "a/", "a/./x", "a\\x", "a/\u{0}"] {
            for (text, context) in [
                ("https://h/in/{path}", RouteTemplate.Context.url), ("file:///srv/{path}", .url),
                ("/srv/{path}", .path),
                ("in/{path}", .name), ("in/{path}", .key),
            ] {
                #expect(throws: RouteTemplateError.self, "\(path) in \(text)") {
                    try filled(text, context, facts("x", ["relativePath": path]))
                }
            }
        }
        #expect(throws: RouteTemplateError.self) { try RouteTemplate("https://{path}/", .url) }
    }

    @Test(arguments: [
        ("/srv/{name}", RouteTemplate.Context.path, 255), ("/srv/x{name}", .path, 254), ("{name}", .name, 255),
        ("file:///srv/{name}", .url, 255), ("in/{name}", .key, 1021),
    ])
    func `a name that is longer than its target allows is refused`(
        text: String, context: RouteTemplate.Context, max: Int
    ) throws {
        // Two bytes a letter: a URL has six.
        let name = String(repeating: "ü", count: max / 2) + String(repeating: "x", count: max % 2)
        _ = try filled(text, context, facts(name))
        let error = #expect(throws: RouteTemplateError.self) { try filled(text, context, facts(name + "x")) }
        #expect(error?.problem.contains("shorten the name") == true)
        #expect(try filled("https://h/in/{name}", .url, facts(name + "x")).hasPrefix("https://h/in/"))
    }

    @Test func `a path that is longer than a file system takes is refused`() throws {
        let folder = String(repeating: String(repeating: "d", count: 254) + "/", count: 17)
        #expect(throws: RouteTemplateError.self) {
            try filled("/srv/{path}", .path, facts("x", ["relativePath": folder + "x"]))
        }
        #expect(try filled("{file}", .path) == "/data/spool/x")
    }

    @Test func `dots that a template and a value make together are refused`() throws {
        for text in [
            "https://h/in/.{name}", "https://h/in/%2e{name}", "https://h/in/{name}{metadata.k}", "https://h/in/{name}.",
        ] {
            #expect(throws: RouteTemplateError.self, "\(text)") { try filled(text, .url, facts(".", ["k": "."])) }
        }
        #expect(try filled("https://h/in/{name}.bin", .url, facts("..")) == "https://h/in/...bin")
        #expect(try filled("https://h/in/x{name}", .url, facts("")) == "https://h/in/x")
    }

    @Test(arguments: [
        "{metadata.url}", "https://{metadata.host}/in", "https://h.example.com{metadata.path}", "{name}://h/",
        "https:{name}", "//h/{name}", "file://{name}", "https://h.example.com:{metadata.port}/",
    ])
    func `a placeholder never chooses scheme or host`(text: String) {
        #expect(throws: RouteTemplateError.self) { try RouteTemplate(text, .url) }
    }

    @Test func `a path is the file itself, or starts in the configured directory`() throws {
        #expect(try filled("{file}", .path) == "/data/spool/x")
        #expect(try filled("/srv/{name}.log", .path) == "/srv/a b.mp4.log")
        for text in ["{name}", "in/{name}", "{file}.log", "/srv/{file}"] {
            #expect(throws: RouteTemplateError.self, "\(text)") { try RouteTemplate(text, .path) }
        }
        #expect(throws: RouteTemplateError.self) { try RouteTemplate("https://h/{file}", .url) }
    }

    @Test func `a header value is visible ASCII, and an argument is never an option`() throws {
        #expect(try filled("{name}", .header) == "a b.mp4")
        for name in ["ü", "a\r\nX-Evil: 1"] {
            #expect(throws: RouteTemplateError.self) { try filled("x {name}", .header, facts(name)) }
        }
        #expect(throws: RouteTemplateError.self) { try filled("{name}", .argument, facts("--output=/etc/x")) }
        #expect(try filled("--name={name}", .argument, facts("-x")) == "--name=-x")
    }

    @Test func `a missing fact is named with its remedy`() throws {
        let name = try #require(throws: RouteTemplateError.self) { try filled("{name}", .text, facts(nil)) }
        #expect(name.problem.contains("{name} is missing"))
        let key = try #require(throws: RouteTemplateError.self) { try filled("{metadata.album}") }
        #expect(key.problem.contains("“album”"))
    }

    @Test func `metadata of tus is read, and values that are not text are left out`() {
        #expect(
            RouteFacts.metadata("filename YS5tcDQ=,empty,also ,bad !!!,binary /w==,album w7w=")
                == ["filename": "a.mp4", "empty": "", "also": "", "album": "ü"])
        #expect(RouteFacts.metadata("").isEmpty && RouteFacts.metadata(",, ,").isEmpty)
    }

    @Test func `random names stay one segment of the URL`() throws {
        var random = SeededRandom.announced("route templates")
        let template = try RouteTemplate("https://h.example.com/in/{name}/end", .url)
        for _ in RandomRounds("route templates", 500...3000) {
            let name = String(decoding: random.bytes(random.number(in: 0..<12)), as: UTF8.self)
            guard let url = try? template.filled(facts(name)) else { continue }
            let segments = url.split(separator: "/", omittingEmptySubsequences: false)
            #expect(segments.count == 6 && segments[5] == "end", "\(name.debugDescription)")
            #expect(segments[4] != "." && segments[4] != ".." && !segments[4].isEmpty, "\(name.debugDescription)")
            #expect(url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(name.debugDescription)")
        }
    }
}
