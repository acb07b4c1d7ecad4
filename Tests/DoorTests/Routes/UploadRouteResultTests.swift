import BuiltIn
import Commands
import FlowText
import Operations
import Store
import TestSupport
import Testing
import Uploads

@testable import Door

struct UploadRouteResultTests {
    private let id = CommandID(high: 1, low: 2)

    private func route(_ text: String) throws -> UploadRoute {
        let file = try YAMLText.parse(Array("routes: {a: \(text)}".utf8))
        return try #require(try UploadRoutes(reading: file).route("a"))
    }

    private func upload(_ name: String? = "a b.mp4", metadata: String? = nil) -> UploadFacts {
        var facts = UploadFacts(origin: .tus)
        facts.fileName = name
        facts.metadata = metadata
        facts.token = "t0"
        return facts
    }

    /// Calls `body` with a route, and with the facts of an upload whose bytes are in a file.
    private func with(
        _ text: String, _ body: (UploadRoute, RouteFacts) throws -> Void
    ) throws {
        let directory = try TemporaryDirectory("route")
        defer { directory.remove() }
        var facts = RouteFacts(id: id, upload())
        facts.file = try directory.file("spooled", Array("content".utf8))
        facts.size = 7
        facts.sha256 = [UInt8](repeating: 1, count: 32)
        try body(try route(text), facts)
    }

    private func registry(_ type: String) -> OperationRegistry { BuiltInOperations.registry() }

    private func command(_ route: UploadRoute, _ facts: RouteFacts) throws -> CommandDraft {
        guard case .command(let draft) = try route.result(of: facts, registry: registry) else {
            throw Missed("it is not a command")
        }
        return draft
    }

    @Test func `an upload sends the spooled file to the filled URL, and leaves it for the door to delete`() throws {
        let text =
            #"{command: {type: upload, payload: {to: "https://media.example.com/in/{name}"}}, qos: utility, retryLimit: 9}"#
        try with(text) { route, facts in
            let draft = try command(route, facts)
            let payload = try JSONValue(parsing: draft.payload)
            #expect(payload["file"]?.string == facts.file && payload["removeSource"] != true)
            // A worker may make the file again.
            #expect(payload["source"]?["inode"] == 0 && payload["source"]?["size"] == 7)
            #expect(payload["to"] == "https://media.example.com/in/a%20b.mp4")
            #expect(draft.qos == .utility && draft.retryLimit == 9 && draft.total == 7)
            #expect(draft.destination.text == "https://media.example.com:443" && draft.identity == nil)
        }
    }

    @Test func `a failure of this machine is told to a client without its files`() throws {
        try with(#"{command: {type: upload, payload: {to: "https://media.example.com/in/{name}"}}}"#) { route, facts in
            var facts = facts
            facts.file = "/no/such/file"
            let error = try #require(throws: UploadError.self) { try route.result(of: facts, registry: registry) }
            #expect(error.code != .invalid && !error.message.contains("/no/such"), "\(error)")
            #expect(error.message.contains("the log of the server has the reason"), "\(error)")
            #expect(error.cause?.contains("/no/such/file") == true)
        }
    }

    @Test func `a flow has the facts in all its nodes, and the keys of the route`() throws {
        let text = #"""
            {flow: {name: publish, nodes: {store: {type: upload, payload: {file: "{file}", to: "https://h.example.com/{name}"}},
            notify: {type: webhook, after: store, payload: {url: "https://w.example.com/", type: stored, data: {size: "{size}",
            result: {$result: store}}}}}, then: {failure: {type: noop, payload: {milliseconds: 0}}}},
            qos: background, orderingKey: "{name}", uniqueKey: "{name}"}
            """#
        try with(text.replacing("\n", with: " ")) { route, facts in
            guard case .flow(let plan) = try route.result(of: facts, registry: registry) else {
                throw Missed("it is not a flow")
            }
            #expect(plan.flow.name == "publish: a b.mp4" && plan.flow.qos == .background)
            #expect(plan.flow.orderingKey == "a b.mp4" && plan.flow.uniqueKey == "a b.mp4")
            #expect(plan.nodes.map(\.name) == ["store", "notify"] && plan.flow.callbacks.count == 1)
            #expect(plan.nodes.allSatisfy { $0.draft.qos == .background })
            let payload = try JSONValue(parsing: plan.nodes[1].draft.payload)
            #expect(payload["data"]?["size"] == "7" && payload["data"]?["result"]?["$result"] == "store")
        }
    }

    /// Batches and schedules name what they make; flows of uploads are the only ones that a template makes.
    @Test func `a flow without a name is named by its route and the file`() throws {
        try with("{flow: {nodes: {n: {type: noop, payload: {milliseconds: 0}}}}}") { route, facts in
            for (file, name) in [("clip.mov", "\(route.name): clip.mov"), (nil, "\(route.name): \(id)")] {
                var facts = facts
                facts.name = file
                guard case .flow(let plan) = try route.result(of: facts, registry: registry) else {
                    throw Missed("it is not a flow")
                }
                #expect(plan.flow.name == name)
            }
            var facts = facts
            facts.name = String(repeating: "x", count: 300)
            guard case .flow(let plan) = try route.result(of: facts, registry: registry) else { return }
            #expect(plan.flow.name.count == 200)
        }
    }

    @Test func `a route without a command keeps the upload in the spool`() throws {
        try with("{}") { route, facts in
            #expect(try route.result(of: facts, registry: registry) == .stored)
            try route.check(upload(nil), id: id, length: nil)
            #expect(try route.shardKey(upload()) == nil)
        }
    }

    @Test func `uploads with one unique key are equal by their content, not by their spooled file`() throws {
        let text = #"{command: {type: upload, payload: {to: "https://h.example.com/{name}"}}, uniqueKey: "{name}"}"#
        try with(text) { route, facts in
            let first = try command(route, facts)
            #expect(first.uniqueKey == "a b.mp4" && first.identity != nil)
            let directory = try TemporaryDirectory("route")
            defer { directory.remove() }
            var again = facts
            again.id = CommandID(high: 3, low: 4)
            again.file = try directory.file("other", Array("content".utf8))
            #expect(try command(route, again).identity == first.identity)
            again.sha256 = [UInt8](repeating: 2, count: 32)
            #expect(try command(route, again).identity != first.identity)
            again = facts
            again.size = 8
            #expect(try command(route, again).identity != first.identity)
        }
    }

    @Test func `what an operation or a template refuses is an invalid upload, with the name of the route`() throws {
        for text in [
            #"{command: {type: upload, payload: {to: "https://h.example.com/{name}", metod: PUT}}}"#,
            #"{command: {type: upload, payload: {to: "https://h.example.com/{metadata.x}"}}}"#,
            #"{flow: {nodes: {n: {type: upload, payload: {file: "{file}", to: "gopher://h/"}}}}}"#,
            #"{flow: {nodes: {a: {type: noop, after: b}, b: {type: noop, after: a}}}}"#,
        ] {
            try with(text) { route, facts in
                let error = try #require(throws: UploadError.self) { try route.result(of: facts, registry: registry) }
                #expect(error.code == .invalid && error.message.hasPrefix("The route “a” does not take"), "\(error)")
            }
        }
    }

    @Test func `a part of a concatenation needs none of the facts that its route needs of the whole`() throws {
        let text = #"routes: {a: {command: {type: upload, payload: {to: "https://h.example.com/{name}"}}}}"#
        let routes = try UploadRoutes(reading: try YAMLText.parse(Array(text.utf8)))
        let rules = RouteRules(routes) { _ in BuiltInOperations.registry() }
        var facts = upload(nil)
        facts.route = "a"
        #expect(throws: UploadError.self) { try rules.shardByte(for: facts, length: 5) }
        facts.concatenation = .partial
        #expect(try rules.shardByte(for: facts, length: 5) == nil)
        facts.route = "unknown"
        #expect(throws: UploadError.self) { try rules.shardByte(for: facts, length: 5) }
    }

    @Test(arguments: [
        (#"{command: {type: upload, payload: {to: "https://h/in/{name}"}}}"#, true),
        (#"{command: {type: upload, payload: {to: "https://h/in/{metadata.album}/{name}"}}}"#, true),
        (#"{command: {type: s3, payload: {endpoint: "https://h", bucket: b, key: "in/{name}"}}}"#, true),
        (#"{command: {type: upload, payload: {to: "https://h/in/{path}"}}}"#, false),
        (#"{command: {type: upload, payload: {to: "https://h/in/{id}/{name}"}}}"#, false),
        (#"{command: {type: upload, payload: {to: "https://h/in/{name}", method: POST}}}"#, false),
        (#"{command: {type: upload, payload: {to: "https://h/in/{name}"}}, uniqueKey: "{name}"}"#, false),
        (#"{command: {type: upload, payload: {to: "https://h/in/", headers: {X-Name: "{name}"}}}}"#, false),
        (#"{flow: {nodes: {n: {type: upload, payload: {file: "{file}", to: "https://h/{name}"}}}}}"#, true),
        ("{}", false),
    ])
    func `a route tells whether it sends files of one name to one target`(text: String, replaces: Bool) throws {
        #expect(try route(text).replacesByName == replaces)
    }

    @Test func `an upload is refused at its creation by size, missing facts, values and long keys`() throws {
        let route = try route(
            #"{command: {type: upload, payload: {to: "https://h.example.com/{name}"}}, maxSize: 10, orderingKey: "k{metadata.album}"}"#
        )
        let album = "album YQ=="
        try route.check(upload(metadata: album), id: id, length: 10)
        try route.check(upload(metadata: album), id: id, length: nil)
        func refusal(_ facts: UploadFacts, _ length: Int64? = nil) -> UploadError? {
            #expect(throws: UploadError.self) { try route.check(facts, id: id, length: length) }
        }
        #expect(refusal(upload(metadata: album), 11)?.code == .tooLarge(limit: 10))
        #expect(refusal(upload(nil, metadata: album))?.message.contains("{name} is missing") == true)
        let local = try self.route(#"{command: {type: upload, payload: {to: "file:///srv/{name}"}}}"#)
        let long255 = String(repeating: "x", count: 255)
        try local.check(upload(long255), id: id, length: nil)
        let tooLong = #expect(throws: UploadError.self) { try local.check(upload(long255 + "x"), id: id, length: nil) }
        #expect(tooLong?.code == .invalid && tooLong?.message.contains("at most 255") == true)
        #expect(refusal(upload("a/b", metadata: album))?.message.contains("“/”") == true)
        #expect(refusal(upload())?.message.contains("“orderingKey”: {metadata.album} is missing") == true)
        let long = String(repeating: "YWFh", count: 200)
        #expect(refusal(upload(metadata: "album \(long)"))?.message.contains("from 1 to 512") == true)
        #expect(try route.shardKey(upload(metadata: album)) == "ka")
    }
}
