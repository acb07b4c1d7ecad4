import Commands
import Door
import Foundation
import Queue
import Store
import TestSupport
import Testing

/// Submits that reach for files, programs and addresses of the server.
struct SubmitAttackTests {
    /// Everything is open but one thing.
    private func allowance(sources: [String] = []) throws -> SubmitAllowance {
        var allowance = SubmitAllowance()
        allowance.types = ["noop", "request", "webhook", "upload", "exec"]
        allowance.destinations = [try #require(Destination("https://hooks.example.com"))]
        allowance.sources = sources
        return allowance
    }

    @Test(arguments: [
        ("request", "{\"url\":\"https://hooks.example.com/\"}"),
        ("webhook", "{\"url\":\"https://hooks.example.com/\",\"type\":\"a\"}"),
        ("upload", "{\"file\":\"/etc/passwd\",\"to\":\"https://hooks.example.com/\"}"),
        ("exec", "{\"program\":\"a\"}"), ("download", "{\"url\":\"https://hooks.example.com/a\",\"to\":\"/tmp/\"}"),
        ("cleanup", "{}"), ("sync", "{}"), ("fetch", "{\"url\":\"https://hooks.example.com/\"}"), ("s3", "{}"),
    ])
    func `by default only noop is submitted`(_ type: String, _ payload: String) async throws {
        try await APIRig.with { rig in
            let body: JSONValue = ["type": .string(type), "payload": try JSONValue(parsing: Array(payload.utf8))]
            let response = try await rig.post("/commands", body)
            #expect(response.status == 403, "\(response.text)")
            #expect(["type-forbidden", "destination-forbidden"].contains(response.problem), "\(response.text)")
            #expect(try rig.store.counts()[.new] == 0)
        }
    }

    @Test(arguments: [
        // A file of the worker's user.
        ("upload", "{\"file\":\"/etc/passwd\",\"to\":\"https://hooks.example.com/\"}", "source-forbidden"),
        ("upload", "{\"file\":\"relative\",\"to\":\"https://hooks.example.com/\"}", "source-forbidden"),
        ("upload", "{\"file\":7,\"to\":\"https://hooks.example.com/\"}", "source-forbidden"),
        (
            "request", "{\"url\":\"https://hooks.example.com/\",\"method\":\"POST\",\"bodyFile\":\"/etc/passwd\"}",
            "source-forbidden"
        ),
        ("exec", "{\"program\":\"a\",\"stdinFile\":\"/etc/passwd\"}", "payload-forbidden"),
        // A file that is written or deleted.
        ("request", "{\"url\":\"https://hooks.example.com/\",\"saveTo\":\"/tmp/a\"}", "payload-forbidden"),
        ("exec", "{\"program\":\"a\",\"stdout\":{\"to\":\"/tmp/a\"}}", "payload-forbidden"),
        ("exec", "{\"program\":\"a\",\"directory\":\"/\"}", "payload-forbidden"),
        (
            "upload", "{\"removeSource\":true,\"file\":\"/etc/passwd\",\"to\":\"https://hooks.example.com/\"}",
            "payload-forbidden"
        ),
        ("upload", "{\"to\":\"file:///tmp/a\",\"file\":\"/etc/passwd\"}", "destination-forbidden"),
        ("request", "{\"url\":\"file:///etc/passwd\"}", "destination-forbidden"),
        // An address that only this network reaches.
        ("request", "{\"url\":\"http://169.254.169.254/latest/meta-data\"}", "destination-forbidden"),
        ("request", "{\"url\":\"http://127.0.0.1:7411/\"}", "destination-forbidden"),
        ("request", "{\"url\":\"https://hooks.example.com:8443/\"}", "destination-forbidden"),
        ("request", "{\"url\":\"http://hooks.example.com/\"}", "destination-forbidden"),
        ("request", "{\"url\":\"https://hooks.example.com@evil.example/\"}", "destination-forbidden"),
        ("request", "{\"url\":\"https://hooks.example.com.evil.example/\"}", "destination-forbidden"),
        ("webhook", "{\"url\":\"https://evil.example/\",\"type\":\"a\"}", "destination-forbidden"),
        // A command that its worker would not confine.
        ("request", "{\"url\":\"https://hooks.example.com/\",\"confined\":false}", "payload-forbidden"),
        ("webhook", "{\"url\":\"https://hooks.example.com/\",\"type\":\"a\",\"confined\":null}", "payload-forbidden"),
        // A slot of a worker, for long.
        ("noop", "{\"milliseconds\":60001}", "payload-forbidden"),
        // A redirect that no rule has seen.
        ("request", "{\"url\":\"https://hooks.example.com/\",\"redirects\":5}", "payload-forbidden"),
    ])
    func `a payload that reaches for the server is refused`(
        _ type: String, _ payload: String, _ problem: String
    ) async throws {
        try await APIRig.with(submit: try allowance()) { rig in
            let body: JSONValue = ["type": .string(type), "payload": try JSONValue(parsing: Array(payload.utf8))]
            let response = try await rig.post("/commands", body)
            #expect(response.status == 403 && response.problem == problem, "\(response.text)")
            #expect(try rig.store.counts()[.new] == 0)
        }
    }

    @Test func `the wait of a noop is short, and no result states it`() async throws {
        try await APIRig.with { rig in
            let short = try await rig.post("/commands", ["type": "noop", "payload": ["milliseconds": 60_000]])
            #expect(short.status == 201, "\(short.text)")
            let parent = try #require(try short.json["id"]?.string)
            let long = try await rig.post(
                "/commands",
                [
                    "type": "noop", "after": .string(parent),
                    "payload": ["milliseconds": ["$result": .string(parent)]],
                ])
            #expect(long.status == 403 && long.problem == "payload-forbidden", "\(long.text)")
        }
    }

    @Test func `a refused file URL says how the file gets there`() async throws {
        var allowance = try allowance()
        allowance.sources = ["/etc"]
        try await APIRig.with(submit: allowance) { rig in
            for body: JSONValue in [
                ["type": "upload", "payload": ["file": "/etc/passwd", "to": "file:///tmp/a"]],
                ["type": "request", "payload": ["url": "file:///etc/passwd"]],
                ["type": "noop", "destination": "file:///tmp/a", "payload": [:]],
            ] {
                let response = try await rig.post("/commands", body)
                #expect(response.status == 403 && response.problem == "destination-forbidden", "\(response.text)")
                #expect(response.text.contains("a route of sluice.yaml"), "\(response.text)")
            }
        }
    }

    @Test func `a stated destination does not hide the address of a payload`() async throws {
        try await APIRig.with(submit: try allowance()) { rig in
            let response = try await rig.post(
                "/commands",
                [
                    "type": "request", "destination": "https://hooks.example.com",
                    "payload": ["url": "http://169.254.169.254/"],
                ])
            #expect(response.status == 403 && response.problem == "destination-forbidden", "\(response.text)")
            let custom = try await rig.post(
                "/commands", ["type": "noop", "destination": "https://evil.example", "payload": [:]])
            #expect(custom.status == 403 && custom.problem == "destination-forbidden", "\(custom.text)")
        }
    }

    @Test(arguments: [
        "{\"url\":{\"$text\":[\"http://\",\"127.0.0.1/\"]}}", "{\"$literal\":{\"url\":\"http://127.0.0.1/\"}}",
        "{\"url\":{\"$result\":\"ID/url\"}}", "{\"$result\":\"ID\"}",
    ])
    func `a result does not stand in for an address`(_ payload: String) async throws {
        try await APIRig.with(submit: try allowance()) { rig in
            let parent = try await rig.client.submit("noop", payload: [:])
            let text = payload.replacingOccurrences(of: "ID", with: parent.description)
            let response = try await rig.post(
                "/commands",
                [
                    "type": "request", "after": .string("\(parent)"), "destination": "https://hooks.example.com",
                    "payload": try JSONValue(parsing: Array(text.utf8)),
                ])
            #expect(response.status == 403 && response.problem == "payload-forbidden", "\(response.text)")
        }
    }

    @Test func `the result of another command is sent only by a token that may read it`() async throws {
        try await APIRig.with(submit: try allowance()) { rig in
            let parent = try await rig.client.submit("noop", payload: [:])
            let body: JSONValue = [
                "type": "request", "after": .string("\(parent)"),
                "payload": [
                    "url": "https://hooks.example.com/", "method": "POST",
                    "json": ["$result": .string("\(parent)")],
                ],
            ]
            let refused = try await rig.post("/commands", body, token: "submit")
            #expect(refused.status == 403 && refused.problem == "reference-forbidden", "\(refused.text)")
            #expect(try await rig.post("/commands", body, token: "submit+read").status == 201)
        }
    }

    @Test func `the nodes and callbacks of a flow are checked like commands`() async throws {
        try await APIRig.with(submit: try allowance()) { rig in
            let attacks = [
                "nodes:\n  a: {type: request, payload: {url: 'http://127.0.0.1/'}}\n",
                "nodes:\n  a: {type: download, payload: {url: 'https://hooks.example.com/', to: /tmp/}}\n",
                "nodes:\n  a: {type: noop}\nthen:\n  end: {type: exec, payload: {program: a, directory: /}}\n",
                "nodes:\n  a: {type: noop}\n  b: {type: request, destination: 'https://hooks.example.com', "
                    + "payload: {url: {$result: a}}}\n",
                "nodes:\n  a: {type: noop, destination: 'https://evil.example'}\n",
            ]
            for attack in attacks {
                let response = try await rig.send(
                    "POST", "/flows", type: "application/yaml", body: Array(attack.utf8))
                #expect(response.status == 403, "\(attack)\(response.text)")
            }
            #expect(try rig.store.counts()[.blocked] == 0)
        }
    }

    @Test func `a source lies beneath a listed directory, and no link leads out`() async throws {
        let directory = try TemporaryDirectory("sources")
        defer { directory.remove() }
        let open = try directory.makeDirectory("open")
        let inside = try directory.file("open/a.bin", [1])
        let outside = try directory.file("secret", [2])
        try FileManager.default.createSymbolicLink(atPath: "\(open)/link", withDestinationPath: outside)
        try FileManager.default.createSymbolicLink(atPath: "\(open)/parent", withDestinationPath: directory.path)
        _ = try directory.makeDirectory("open-not")
        _ = try directory.file("open-not/b", [3])
        try await APIRig.with(submit: try allowance(sources: [open])) { rig in
            func submit(_ path: String) async throws -> APIResponse {
                try await rig.post(
                    "/commands",
                    ["type": "upload", "payload": ["file": .string(path), "to": "https://hooks.example.com/in/"]])
            }
            let made = try await submit(inside)
            #expect(made.status == 201, "\(made.text)")
            #expect(try made.json["payload"]?["file"]?.string == inside)
            let attacks = [
                outside, "\(open)/../secret", "\(open)/link", "\(open)/parent/secret", open, "\(open)-not/b",
                "\(open)/none", "\(open)/a.bin\u{0}",
            ]
            for path in attacks {
                let response = try await submit(path)
                #expect(response.status == 403 && response.problem == "source-forbidden", "\(path): \(response.text)")
            }
        }
    }

    @Test func `a request over HTTP follows no redirect`() async throws {
        try await APIRig.with(submit: try allowance()) { rig in
            let made = try await rig.post(
                "/commands", ["type": "request", "payload": ["url": "https://hooks.example.com/a"]])
            #expect(made.status == 201, "\(made.text)")
            #expect(try made.json["payload"]?["redirects"] == 0)
        }
    }

    @Test(arguments: [
        ("request", "{\"url\":\"https://hooks.example.com/a\"}"),
        ("webhook", "{\"url\":\"https://hooks.example.com/a\",\"type\":\"a\"}"),
    ])
    func `a worker confines a command over HTTP, alone, in a bulk and in a flow`(
        _ type: String, _ payload: String
    ) async throws {
        try await APIRig.with(submit: try allowance()) { rig in
            let line = "{\"type\":\"\(type)\",\"payload\":\(payload)}"
            let bulk = try await rig.send(
                "POST", "/commands/bulk", type: "application/x-ndjson", body: Array("\(line)\n".utf8))
            let made = try await rig.post("/commands", try JSONValue(parsing: Array(line.utf8)))
            #expect(bulk.status == 200 && made.status == 201, "\(bulk.text)\(made.text)")
            let flow = "{\"nodes\":{\"a\":\(line)},\"then\":{\"end\":\(line)}}"
            let submitted = try await rig.send("POST", "/flows", type: "application/json", body: Array(flow.utf8))
            #expect(submitted.status == 201, "\(submitted.text)")
            let commands = try rig.store.list(CommandFilter(), after: nil, limit: 10).filter { $0.type == type }
            #expect(commands.count == 4)
            for command in commands {
                let stored = try JSONValue(parsing: try #require(try rig.store.payload(command.id)))
                #expect(stored["confined"] == true, "\(stored)")
            }
        }
    }

    @Test func `a token narrows types and destinations`() async throws {
        try await APIRig.with(submit: try allowance()) { rig in
            let hook: JSONValue = [
                "type": "webhook", "payload": ["url": "https://hooks.example.com/a", "type": "done"],
            ]
            let refused = try await rig.post("/commands", hook, token: "submit+read/noops")
            #expect(refused.status == 403 && refused.problem == "submit-forbidden", "\(refused.text)")
            #expect(try await rig.post("/commands", hook, token: "submit+read/hooks").status == 201)
            let none = try await rig.post(
                "/commands", ["type": "noop", "payload": [:]], token: "submit+read/hooks")
            #expect(none.status == 403 && none.problem == "submit-forbidden", "\(none.text)")
        }
    }
}
