import Commands
import Foundation
import Store
import Synchronization
import TestSupport
import Testing

extension EndToEndTests {
    /// Flows, from a document to their ends, with real processes and a real server.
    struct FlowTests {
        /// Answers each GET with one body, and keeps the bodies that it is sent.
        private final class Handler: RequestHandler {
            let answer: String
            let bodies = Mutex<[String: [UInt8]]>([:])

            init(_ answer: String) { self.answer = answer }

            func respond(to request: HandledRequest) -> Behaviour {
                if request.method == "GET" { return .answer(200, body: answer) }
                bodies.withLock { $0[request.target] = request.body }
                return .answer(200, body: "{}")
            }
        }

        private static func write(_ text: String, _ installation: Installation) throws -> String {
            let path = "\(installation.directory.path)/flow.yaml"
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }

        @Test func `download, sync and notify in five lines, with results passed on`() async throws {
            try await Installation.with { installation in
                let server = try await installation.receiver(hashes: false)
                let handler = Handler(#"[{"id":1,"text":"a"},{"id":2,"text":"b"}]"#)
                server.handle(by: handler)
                let file = try Self.write(
                    """
                    name: get-all-quotes
                    nodes:
                      download: {type: download, payload: {url: "\(server.origin)/all.json", to: "\(installation.directory.path)/"}}
                      sync: {type: sync, payload: {url: "\(server.origin)/all.json", collection: quotes}, after: download}
                      notify: {type: request, payload: {url: "\(server.origin)/q", method: POST, json: {rows: {$result: sync/records}, path: {$result: download/path}}}}
                    then:
                      end: {type: request, payload: {url: "\(server.origin)/end", method: POST, json: {$flow: status}}}
                    """, installation)
                let checked = try await installation.sluice("flow", "submit", file, "--check")
                #expect(
                    checked.output == "get-all-quotes: 3 nodes, 3 dependencies, 1 callbacks; first download\n",
                    "\(checked.errors)")
                let up = try await installation.up()
                let submitted = try await installation.sluice("flow", "submit", file, "--wait")
                #expect(submitted.code == 0, "\(submitted.errors)")
                let id = try #require(submitted.ids.first)
                try await until("the callback") { handler.bodies.withLock { $0["/end"] } == Array(#""success""#.utf8) }
                let body = try JSONValue(parsing: try #require(handler.bodies.withLock { $0["/q"] }))
                #expect(body["rows"]?.integer == 2)
                #expect(body["path"]?.string == "\(installation.directory.path)/all.json")
                let drawn = try await installation.sluice("flow", "\(id)")
                #expect(drawn.lines.first?.hasPrefix("get-all-quotes \(id)  success · 3 of 3 ended") == true)
                #expect(drawn.lines.count == 5 && drawn.lines[3].contains("← download, sync"), "\(drawn.output)")
                let listed = try await installation.sluice("flow", "list", "--json")
                #expect(try listed.json()["open"]?.integer == 0)
                up.signal(SIGTERM)
                _ = try await up.end(within: .seconds(30))
            }
        }

        @Test func `the example submits a flow from Swift, and waits for it`() async throws {
            try await Installation.with { installation in
                let server = try await installation.receiver(hashes: false)
                let handler = Handler(#"[{"id":1},{"id":2},{"id":3}]"#)
                server.handle(by: handler)
                let up = try await installation.up()
                let example = try await installation.run(
                    program: "\(Installation.bin)/submit-flow",
                    [installation.data, "\(server.origin)/all.json", "\(server.origin)/quotes"])
                #expect(example.code == 0, "\(example.output)\(example.errors)")
                #expect(example.output.contains("get-all-quotes: 3 of 3 ended, 0 failed"), "\(example.output)")
                let body = try JSONValue(parsing: try #require(handler.bodies.withLock { $0["/quotes"] }))
                #expect(body["rows"]?.integer == 3)
                up.signal(SIGTERM)
                _ = try await up.end(within: .seconds(30))
            }
        }

        @Test func `a failing step cancels what waits for it, and a retry finishes the flow`() async throws {
            try await Installation.with { installation in
                let missing = "\(installation.directory.path)/missing"
                let server = try await installation.receiver(hashes: false)
                server.handle(by: Handler("hello"))
                let file = try Self.write(
                    """
                    nodes:
                      first: {type: download, payload: {url: "\(server.origin)/a", to: "\(missing)/"}}
                      second: {type: noop, after: first}
                      other: {type: noop}
                    then: {failure: {type: noop}, success: {type: noop}}
                    """, installation)
                let up = try await installation.up()
                let submitted = try await installation.sluice("flow", "submit", file, "--wait")
                let id = try #require(submitted.ids.first)
                #expect(submitted.code == 1)
                #expect(submitted.errors.contains("2 of 3 nodes failed, “first” first"), "\(submitted.errors)")
                try FileManager.default.createDirectory(atPath: missing, withIntermediateDirectories: false)
                #expect(try await installation.sluice("retry", "\(id)").code == 0)
                let store = try installation.store()
                try await until("the flow") { try store.command(id)?.status == .success }
                let nodes = try store.flowNodes(id, after: 0, limit: 100)
                try await until("the callback") { try store.command(nodes[4].command.id)?.status == .success }
                #expect(nodes.prefix(3).allSatisfy { $0.command.status == .success })
                // The failure was told once.
                #expect(nodes[3].parents.first?.condition == .failure && nodes[3].command.status == .success)
                up.signal(SIGTERM)
                _ = try await up.end(within: .seconds(30))
            }
        }

        @Test func `a cancelled flow stops its running node, and starts no other`() async throws {
            try await Installation.with { installation in
                let file = try Self.write(
                    """
                    nodes:
                      long: {type: noop, payload: {milliseconds: 600000}}
                      next: {type: noop, after: long}
                    """, installation)
                let up = try await installation.up()
                let id = try #require(try await installation.sluice("flow", "submit", file).ids.first)
                let store = try installation.store()
                try await until("the node") {
                    try store.flowNodes(id, after: 0, limit: 1).first?.command.status == .sent
                }
                #expect(try await installation.sluice("cancel", "\(id)").code == 0)
                try await until("the flow") { try store.command(id)?.status == .cancelled }
                #expect(try store.flowNodes(id, after: 0, limit: 9).allSatisfy { $0.command.status == .cancelled })
                up.signal(SIGTERM)
                _ = try await up.end(within: .seconds(30))
            }
        }

        @Test func `a fan-in of JSON lines runs, and its graph is drawn`() async throws {
            try await Installation.with { installation in
                var lines = #"{"flow":{"name":"pages"}}"# + "\n"
                for page in 0..<300 { lines += #"{"node":"page-\#(page)","type":"noop"}"# + "\n" }
                lines += #"{"node":"join","type":"noop","after":"page-*"}"# + "\n"
                let up = try await installation.up()
                let submitted = try await installation.sluice(
                    "flow", "submit", "-", "--lines", "--wait", "--json", input: lines)
                #expect(submitted.code == 0, "\(submitted.errors)")
                let id = try #require(try submitted.json()["id"]?.string)
                let drawn = try await installation.sluice("flow", "show", id)
                #expect(drawn.lines.count == 3 && drawn.lines[1].contains("300 of 300"), "\(drawn.output)")
                let graph = try await installation.sluice("flow", id, "--dot")
                #expect(graph.lines.count == 4 + 301 + 300, "\(graph.lines.count)")
                up.signal(SIGTERM)
                _ = try await up.end(within: .seconds(30))
            }
        }

        @Test func `a document with a mistake is refused with its place, and nothing is submitted`() async throws {
            try await Installation.with { installation in
                let cases: [(document: String, problem: String)] = [
                    (
                        "nodes:\n  a: {type: noop}\n  b: {type: noop, after: aa}",
                        "flow.yaml:3: node “b”: there is no node “aa”"
                    ),
                    (
                        "nodes:\n  a: {type: noop, after: b}\n  b: {type: noop, after: a}",
                        "the nodes wait for each other"
                    ),
                    ("nodes:\n  a: {type: noop, payload: {millis: 1}}", "flow.yaml:2: node “a”:"),
                    ("nodes:\n  a: {type: nope}", "“nope”"),
                    (
                        "nodes:\n  a: {type: noop}\n  b: {type: request, payload: {url: {$result: a/url}}}",
                        "state it as “destination”"
                    ),
                    (
                        "nodes:\n  a: {type: noop}\n  b: {type: upload, payload: {file: {$result: a}, to: x.txt}}",
                        "starts with “/”"
                    ),
                    ("nodes:\n  a: {type: noop, retryLimit: x}", "“retryLimit” must be a whole number"),
                ]
                for (document, problem) in cases {
                    let file = try Self.write(document, installation)
                    let refused = try await installation.sluice("flow", "submit", file)
                    #expect(refused.code == 65 && refused.output.isEmpty, "\(document): \(refused.code)")
                    #expect(refused.errors.contains(problem), "\(refused.errors)")
                }
                let missing = try await installation.sluice("flow", "submit", "/nonexistent.yaml")
                #expect(missing.code == 66, "\(missing.errors)")
            }
        }
    }
}
