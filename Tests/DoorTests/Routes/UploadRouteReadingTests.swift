import Commands
import FlowText
import Testing

@testable import Door

struct UploadRouteReadingTests {
    private func routes(_ text: String) throws -> UploadRoutes {
        try UploadRoutes(reading: try YAMLText.parse(Array(text.utf8)))
    }

    @Test func `routes are read with all their keys`() throws {
        let routes = try routes(
            """
            network: {maxTransfers: 3}
            routes:
              archive:
                command: {type: upload, payload: {to: "https://media.example.com/in/{name}", method: PUT}, limit: slow}
                qos: utility
                uniqueKey: "{token}/{name}"
                orderingKey: "{metadata.album}"
                retryLimit: 3
                maxSize: 20GiB
                retention: 12h
              publish:
                flow: {nodes: {store: {type: noop}, notify: {type: webhook, payload: {url: "https://h/{id}"}, after: store}}}
              inbox: {}
              other:
            """)
        #expect(routes.names == ["archive", "publish", "inbox", "other"])
        let archive = try #require(routes.route("archive"))
        #expect(archive.qos == .utility && archive.retryLimit == 3 && archive.maxSize == 20 << 30)
        #expect(archive.retention == .seconds(43_200) && archive.types == ["upload"] && archive.needsDigest)
        #expect(archive.uniqueKey?.text == "{token}/{name}" && archive.orderingKey?.text == "{metadata.album}")
        let publish = try #require(routes.route("publish"))
        #expect(publish.types == ["noop", "webhook"] && publish.becomesCommand && publish.retention == .zero)
        #expect(!publish.needsDigest)
        #expect(routes.route("inbox")?.becomesCommand == false && routes.route("other")?.becomesCommand == false)
        #expect(routes.route("none") == nil)
        let members = JSONValue.object(archive.members)
        #expect(members["becomes"] == "command" && members["retention"] == 43_200 && members["payload"] == nil)
    }

    @Test func `a configuration without routes has none`() throws {
        #expect(try routes("network: {}").names.isEmpty && routes("routes:").names.isEmpty)
        #expect(try routes("routes: {}").names.isEmpty)
    }

    @Test(arguments: [
        ("routes: [a]", 1, "must be a mapping of names"),
        ("routes:\n  a b: {}", 2, "is not the name of a route"),
        ("routes:\n  a: 3", 2, "it must be a mapping"),
        ("routes:\n  a:\n    comand: {}", 3, "unknown key “comand”; is it “command”?"),
        ("routes:\n  a:\n    command: {type: noop}\n    flow: {nodes: {}}", 4, "“command” and “flow”"),
        ("routes:\n  a:\n    command: noop", 3, "must be a mapping with “type”"),
        ("routes:\n  a:\n    command: {payload: {}}", 3, "no “type”"),
        ("routes:\n  a:\n    command: {type: Up}", 3, "must be 1 to 64"),
        ("routes:\n  a:\n    command: {type: flow}", 3, "the key “flow” of the route"),
        ("routes:\n  a:\n    command: {type: upload, payload: x}", 3, "must be a mapping"),
        ("routes:\n  a:\n    command:\n      type: noop\n      qos: default", 5, "a key of the route"),
        ("routes:\n  a:\n    command:\n      type: noop\n      after: x", 5, "unknown key “after”"),
        ("routes:\n  a:\n    command:\n      type: noop\n      deadline: soon", 5, "“deadline” is “soon”"),
        (
            "routes:\n  a:\n    command:\n      type: upload\n      payload:\n        to: https://h/{nme}", 6,
            "“to”: “{nme}” is not a placeholder; there are {file}, {name}"
        ),
        (
            "routes:\n  a:\n    command: {type: upload, payload: {to: https://h/, removeSource: true}}", 3,
            "“retention” of the route"
        ),
        ("routes:\n  a:\n    command: {type: request, payload: {url: \"{metadata.to}\"}}", 3, "scheme and host"),
        ("routes:\n  a:\n    flow:\n      nodes:\n        n: {typ: noop}", 5, "node “n”"),
        ("routes:\n  a:\n    flow: {nodes: {n: {type: noop, payload: {x: \"{y}\"}}}}", 3, "node “n”: “payload.x”"),
        ("routes:\n  a:\n    flow: {uniqueKey: k, nodes: {}}", 3, "move it beside “flow”"),
        ("routes:\n  a:\n    flow: {qos: utility, nodes: {}}\n    qos: default", 4, "remove one of them"),
        ("routes:\n  a:\n    flow: {nodes: {}}\n    retryLimit: 3", 4, "of a command"),
        ("routes:\n  a:\n    command: {type: noop}\n    retryLimit: 1001", 4, "from 0 to 1000"),
        ("routes:\n  a:\n    qos: urgent", 3, "must be one of userInteractive"),
        ("routes:\n  a:\n    maxSize: big", 3, "such as 20GiB"), ("routes:\n  a:\n    maxSize: 0", 3, "such as 20GiB"),
        ("routes:\n  a:\n    retention: 1d", 3, "does not have"),
        ("routes:\n  a:\n    command: {type: noop}\n    retention: later", 4, "such as 0s"),
        ("routes:\n  a:\n    uniqueKey: x", 3, "does not have"),
        ("routes:\n  a:\n    command: {type: noop}\n    uniqueKey: \"{sha256}\"", 4, "has {sha256}"),
        ("routes:\n  a:\n    command: {type: noop}\n    orderingKey: \"{id}\"", 4, "has {id}"),
        ("routes:\n  a:\n    command: {type: noop}\n    orderingKey: \"\"", 4, "is empty"),
        ("routes:\n  a:\n    command: {type: noop}\n    orderingKey: 3", 4, "must be a string"),
    ])
    func `a mistake is named with its line`(text: String, line: Int, problem: String) throws {
        let error = try #require(throws: RouteError.self) { try routes(text) }
        #expect(error.position?.line == line && error.problem.contains(problem), "\(error)")
    }
}
