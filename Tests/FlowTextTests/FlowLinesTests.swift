import Commands
import FlowText
import TestSupport
import Testing

@Suite struct FlowLinesTests {
    private static let flow = #"{"flow":{"name":"f"}}"#

    @Test func `lines are read as a flow and its nodes`() throws {
        let items = try Texts.lines([
            #"{"flow": {"name": "get", "qos": "utility", "onFailure": "stop", "then": {"end": {"type": "noop"}}}}"#, "",
            #"{"node": "a", "type": "download", "payload": {"url": "https://h"}}"#, " \r\n",
            #"{"type": "sync", "node": "b", "after": ["a"], "payload": {"f": {"$result": "a/path"}}}"# + "\n",
            #"{"node": "c", "type": "noop", "after": "*", "mayFail": true}"#,
        ])
        guard case .flow(let flow) = items[0], items.count == 4 else {
            Issue.record("\(items)")
            return
        }
        #expect(flow.name == "get" && flow.stopsOnFailure && flow.nodes.isEmpty && flow.callbacks.count == 1)
        let nodes = items.dropFirst().compactMap { if case .node(let node) = $0 { node } else { nil } }
        #expect(nodes.map(\.name) == ["a", "b", "c"])
        #expect(nodes.map(\.after) == [[:], ["a": .success], ["a": .success, "b": .success]])
        #expect(nodes.map { $0.position?.line } == [3, 5, 6])
        #expect(nodes.map(\.options) == Array(repeating: [.init("qos", "utility")], count: 3))
    }

    @Test func `a flow may have no nodes`() throws {
        #expect(try Texts.lines([#"{"flow":{}}"#]) == [.flow(FlowDocument())])
    }

    @Test func `the first line must be a flow`() {
        let form = #"the first line must be a flow, as in {"flow": {"name": "quotes"}}"#
        #expect(Texts.linesRefusal() == "flow.jsonl: " + form)
        #expect(Texts.linesRefusal("", "") == "flow.jsonl: " + form)
        #expect(Texts.linesRefusal("", #"{"node":"a","type":"noop"}"#) == "flow.jsonl:2: " + form)
        #expect(
            Texts.linesRefusal(#"{"flow":{},"name":"x"}"#) == "flow.jsonl:1: “name” must stand inside of “flow”")
        #expect(Texts.linesRefusal(#"{"flow":1}"#) == "flow.jsonl:1: “flow” must be a mapping, not a number")
        #expect(
            Texts.linesRefusal(#"{"flow":{"nodes":{}}}"#)?.hasPrefix("flow.jsonl:1: unknown key “nodes”") == true)
        #expect(
            Texts.linesRefusal(Self.flow, Self.flow) == "flow.jsonl:2: a second flow; write each flow into its own text"
        )
    }

    @Test func `errors name the line`() {
        #expect(
            Texts.linesRefusal(Self.flow, "", #"{"node":"a" "type":"noop"}"#)
                == "flow.jsonl:3: the text is not valid JSON: expected “,” or “}” in an object")
        #expect(Texts.linesRefusal(Self.flow, "5") == "flow.jsonl:2: a line must be a mapping, not a number")
        #expect(
            Texts.linesRefusal(Self.flow, #"{"type":"noop"}"#)
                == "flow.jsonl:2: “node” is missing, which has the name of the node")
        #expect(
            Texts.linesRefusal(Self.flow, #"{"node":"a","type":"noop","aftr":[]}"#)
                == "flow.jsonl:2: node “a”: unknown key “aftr”; is it “after”?")
        #expect(
            Texts.linesRefusal(Self.flow, #"{"node":"a","type":"noop"}"#, #"{"node":"a","type":"noop"}"#)
                == "flow.jsonl:3: node “a”: another node has this name")
    }

    @Test func `a line can name earlier nodes only`() {
        let download = #"{"node":"download","type":"noop"}"#
        #expect(
            Texts.linesRefusal(Self.flow, download, #"{"node":"b","type":"noop","after":"downlaod"}"#)
                == "flow.jsonl:3: node “b”: there is no earlier node “downlaod” to wait for; is it “download”?")
        #expect(
            Texts.linesRefusal(Self.flow, #"{"node":"b","type":"noop","after":"c"}"#, #"{"node":"c","type":"noop"}"#)
                == "flow.jsonl:2: node “b”: there is no earlier node “c” to wait for")
        #expect(
            Texts.linesRefusal(Self.flow, #"{"node":"b","type":"noop","payload":{"$results":"p*"}}"#)
                == "flow.jsonl:2: node “b”: there is no other earlier node with a name that starts with “p”")
        #expect(
            Texts.linesRefusal(Self.flow, #"{"node":"b","type":"noop","after":"b"}"#)
                == "flow.jsonl:2: node “b”: it waits for itself")
    }

    @Test(.enabled(if: runsSlowTests, "reads 100,000 lines"))
    func `more nodes than a flow may have are refused`() throws {
        var reader = FlowLines(file: nil)
        _ = try reader.read(Array(Self.flow.utf8))
        for index in 0..<FlowDraft.maxNodes {
            _ = try reader.read(Array("{\"node\":\"n\(index)\",\"type\":\"noop\"}".utf8))
        }
        #expect(reader.nodeCount == FlowDraft.maxNodes)
        let error = #expect(throws: FlowDocumentError.self) {
            try reader.read(Array("{\"node\":\"x\",\"type\":\"noop\"}".utf8))
        }
        #expect(error?.description == "line 100002: the flow has more than 100000 nodes")
    }
}
