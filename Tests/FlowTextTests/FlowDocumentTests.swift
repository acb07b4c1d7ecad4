import Commands
import FlowText
import Testing

@Suite struct FlowDocumentTests {
    private static let quotes = """
        name: get-all-quotes
        qos: utility
        deadline: 2h
        uniqueKey: nightly
        uniqueFor: 1d
        onFailure: stop
        defaults: {retryLimit: 2, idempotent: true}
        nodes:
          download: {type: download, payload: {url: https://q.example.com/all.json}}
          sync:
            type: sync
            payload: {file: {$result: download/path}}
          notify: {type: request, after: sync, payload: {url: https://h.example.com}, qos: background}
          last:
            type: noop
            after: {sync: end, notify: failure}
            mayFail: true
            retryLimit: 3
            notBefore: 10m
            destination: https://x
        then:
          success: {type: noop}
          failure: {type: request, payload: {body: {$flow: failed}}, deadline: 1h}
          end: {type: noop, qos: userInitiated}
        """

    @Test func `a document is read as a flow`() throws {
        let flow = try Texts.document(Self.quotes)
        #expect(flow.name == "get-all-quotes" && flow.stopsOnFailure)
        #expect(
            flow.options == [
                .init("qos", "utility"), .init("deadline", "2h"), .init("uniqueKey", "nightly"),
                .init("uniqueFor", "1d"),
            ])
        #expect(flow.nodes.map(\.name) == ["download", "sync", "notify", "last"])
        #expect(flow.nodes.map(\.type) == ["download", "sync", "request", "noop"])
        #expect(
            flow.nodes.map(\.after) == [
                [:], ["download": .success], ["sync": .success], ["sync": .end, "notify": .failure],
            ])
        #expect(flow.nodes.map(\.mayFail) == [false, false, false, true])
        #expect(flow.nodes[0].payload == ["url": "https://q.example.com/all.json"])
        #expect(flow.nodes[1].payload == ["file": ["$result": "download/path"]])
        #expect(flow.nodes[1].template.parents == [.node("download")])
        #expect(flow.nodes[3].payload == [:])
        #expect(flow.nodes.map { $0.position?.line } == [9, 10, 13, 14])
        #expect(flow.callbacks.map(\.condition) == [.success, .failure, .end])
        #expect(flow.callbacks[1].node.template.usesFlow && flow.callbacks[1].node.name == "failure")
    }

    @Test func `a node has its own options, then the defaults, then the qos of the flow`() throws {
        let flow = try Texts.document(Self.quotes)
        #expect(
            flow.nodes[0].options == [.init("retryLimit", 2), .init("idempotent", true), .init("qos", "utility")])
        #expect(
            flow.nodes[2].options == [.init("qos", "background"), .init("retryLimit", 2), .init("idempotent", true)])
        #expect(
            flow.nodes[3].options == [
                .init("retryLimit", 3), .init("notBefore", "10m"), .init("destination", "https://x"),
                .init("idempotent", true), .init("qos", "utility"),
            ])
        #expect(flow.callbacks[0].node.options == [.init("qos", "utility")])
        #expect(flow.callbacks[1].node.options == [.init("deadline", "1h"), .init("qos", "utility")])
        #expect(flow.callbacks[2].node.options == [.init("qos", "userInitiated")])
        let own = try Texts.document("qos: utility\ndefaults: {qos: background}\nnodes: {a: {type: noop}}")
        #expect(own.nodes[0].options == [.init("qos", "background")])
    }

    @Test func `a list of nodes gives the same flow as a mapping`() throws {
        let mapping = try Texts.document("nodes:\n  a: {type: noop}\n  b: {type: noop, after: a}\n")
        var list = try Texts.document("nodes:\n- {name: a, type: noop}\n- {type: noop, after: [a], name: b}\n")
        #expect(list.nodes.map { $0.position?.line } == [2, 3])
        for index in list.nodes.indices { list.nodes[index].position = mapping.nodes[index].position }
        #expect(list == mapping)
    }

    @Test func `a JSON document gives the same flow as a YAML document`() throws {
        let yaml = try Texts.document("nodes:\n  a: {type: noop}\n  b: {type: noop, after: a, payload: [1]}\n")
        var json = try Texts.document(
            #"""
            {"nodes": {
              "a": {"type": "noop"},
              "b": {"type": "noop", "after": "a", "payload": [1]}}}
            """#)
        #expect(json.nodes.map { $0.position?.line } == [2, 3])
        for index in json.nodes.indices { json.nodes[index].position = yaml.nodes[index].position }
        #expect(json == yaml)
    }

    @Test func `members that are missing have defaults`() throws {
        let flow = try Texts.document("nodes: {}")
        #expect(flow == FlowDocument() && flow.name == "flow" && !flow.stopsOnFailure)
        #expect(try Texts.document("nodes: []\nonFailure: continue") == flow)
        #expect(try Texts.document("nodes: {a: {type: noop, payload: null}}").nodes[0].payload == [:])
    }

    @Test func `a node can wait for later nodes`() throws {
        let flow = try Texts.document(
            "nodes:\n  a: {type: noop, after: [b, c]}\n  b: {type: noop, payload: {$result: c}}\n  c: {type: noop}\n")
        #expect(flow.nodes.map(\.after) == [["b": .success, "c": .success], ["c": .success], [:]])
    }

    @Test func `a star stands for every node whose name starts so`() throws {
        let flow = try Texts.document(
            """
            nodes:
              page-1: {type: noop}
              page-2: {type: noop}
              pag: {type: noop}
              page-all: {type: noop, after: "page-*"}
              some: {type: noop, after: {"page-*": end, page-1: failure}}
              all: {type: noop, after: "*"}
            """)
        #expect(flow.nodes[3].after == ["page-1": .success, "page-2": .success])
        #expect(flow.nodes[4].after == ["page-1": .failure, "page-2": .end, "page-all": .end])
        #expect(flow.nodes[5].after.count == 5 && flow.nodes[5].after["all"] == nil)
    }

    @Test func `a reference waits for the success of its node`() throws {
        let flow = try Texts.document(
            """
            nodes:
              a: {type: noop}
              b: {type: noop, mayFail: true}
              page-1: {type: noop}
              page-2: {type: noop}
              c: {type: noop, payload: [{$result: a/x}, {$result: b, default: null}, {$results: "page-*"}]}
              d: {type: noop, after: {a: end}, payload: {$text: [h, {$result: a, default: 1}]}}
              e: {type: noop, payload: {$results: [a, b], default: 0}}
              f: {type: noop, payload: {$literal: {$result: none}}}
            """)
        #expect(
            flow.nodes[4].after == ["a": .success, "b": .success, "page-1": .success, "page-2": .success])
        #expect(flow.nodes[5].after == ["a": .end])
        #expect(flow.nodes[6].after == ["a": .success, "b": .success])
        #expect(flow.nodes[7].after == [:])
    }

    @Test func `the flow can be planned`() throws {
        let document = try Texts.document(Self.quotes)
        let nodes = document.nodes.map { node in
            FlowNode(
                node.name,
                CommandDraft(type: node.type, payload: node.payload.bytes, destination: .none, idempotent: true),
                after: node.after, mayFail: node.mayFail)
        }
        let plan = try FlowPlan(FlowDraft(document.name, nodes: nodes))
        #expect(plan.nodes.map(\.name) == ["download", "sync", "notify", "last"])
    }
}
