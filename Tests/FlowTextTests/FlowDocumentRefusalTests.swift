import Commands
import FlowText
import TestSupport
import Testing

@Suite struct FlowDocumentRefusalTests {
    private static let nodeKeys =
        "type, payload, after, mayFail, qos, idempotent, retryLimit, notBefore, deadline, destination and limit"

    @Test func `an error without a file name has the line`() {
        let error = #expect(throws: FlowDocumentError.self) {
            try FlowDocument(parsing: Array("\nnodes:\n  a: {}\n".utf8), file: nil)
        }
        #expect(error?.description == "line 3: node “a”: “type” is missing; name the operation, as in “type: download”")
        #expect(error?.position == SourcePosition(line: 3, column: 3) && error?.node == "a")
    }

    @Test func `a text that is not a flow is refused`() {
        #expect(Texts.refusal("") == "quotes.yaml: the text is empty")
        #expect(Texts.refusal("[1]") == "quotes.yaml:1: the document must be a mapping, not an array")
        #expect(Texts.refusal("a: [") == Texts.yamlRefusal("a: [").map { "quotes.yaml:" + $0.dropFirst(5) })
        #expect(
            Texts.refusal("name: x") == "quotes.yaml: “nodes” is missing; write “nodes: {}” for a flow without nodes")
        #expect(
            Texts.refusal("nodes:")
                == "quotes.yaml:1: “nodes” must be a mapping of names to nodes or a list of nodes, not null")
        #expect(Texts.refusal("nodes:\n  a: 5") == "quotes.yaml:2: node “a”: a node must be a mapping, not a number")
        #expect(Texts.refusal("nodes:\n- a") == "quotes.yaml:2: a node must be a mapping, not a string")
        #expect(
            Texts.refusal("nodes:\n- {type: noop}")
                == "quotes.yaml:2: a node has no “name”, which each node of a list needs")
    }

    @Test func `an error shows the start of a long text without control characters`() {
        let long = String(repeating: "x", count: 1000)
        #expect(
            Texts.refusal("\"a\\e[31m\(long)\": 1")
                == "quotes.yaml:1: unknown key “a\u{FFFD}[31m\(long.prefix(74))…”: a flow has name, qos, deadline, "
                + "uniqueKey, uniqueFor, orderingKey, keyLimit, keyFailure, onFailure, defaults, nodes and then")
        #expect(Texts.refusal("nodes: {\(long): {type: noop}}")?.utf8.count ?? 1000 < 200)
    }

    @Test func `unknown keys are refused with the nearest known one`() {
        #expect(Texts.refusal("nodes: {}\nnmae: x") == "quotes.yaml:2: unknown key “nmae”; is it “name”?")
        #expect(
            Texts.refusal("callbacks: {}\nnodes: {}")
                == "quotes.yaml:1: unknown key “callbacks”: a flow has name, qos, deadline, uniqueKey, uniqueFor, "
                + "orderingKey, keyLimit, keyFailure, onFailure, defaults, nodes and then")
        #expect(
            Texts.refusal("nodes:\n  a:\n    type: noop\n    paylod: {}")
                == "quotes.yaml:4: node “a”: unknown key “paylod”; is it “payload”?")
        #expect(
            Texts.refusal("nodes: {a: {type: noop, uniqueKey: x}}")
                == "quotes.yaml:1: node “a”: unknown key “uniqueKey”: a node has \(Self.nodeKeys)")
        #expect(
            Texts.refusal("nodes: {}\ndefaults: {mayFail: true}")
                == "quotes.yaml:2: unknown key “mayFail”: “defaults” has qos, idempotent, retryLimit, notBefore, deadline, "
                + "destination and limit")
        #expect(
            Texts.refusal("nodes: {}\nthen: {succes: {type: noop}}")
                == "quotes.yaml:2: unknown key “succes”; is it “success”?")
        #expect(
            Texts.refusal("nodes: {}\nthen: {always: {type: noop}}")
                == "quotes.yaml:2: unknown key “always”: “then” has success, failure and end")
        #expect(
            Texts.refusal("nodes: {}\nthen: {end: {type: noop, after: a}}")
                == "quotes.yaml:2: node “end”: unknown key “after”: a callback has type, payload, qos, idempotent, "
                + "retryLimit, notBefore, deadline, destination and limit")
    }

    @Test func `members of the wrong kind are refused`() {
        #expect(
            Texts.refusal("name: 2026\nnodes: {}")
                == "quotes.yaml:1: “name” must be a string, not a number; write it in quotes")
        #expect(Texts.refusal("name: []\nnodes: {}") == "quotes.yaml:1: “name” must be a string, not an array")
        let name =
            "quotes.yaml:1: the name of a flow must have 1 to 200 characters, none of which is a control character"
        for text in ["''", String(repeating: "x", count: 201), "\"a\\nb\"", "\"\\u0085\""] {
            #expect(Texts.refusal("name: \(text)\nnodes: {}") == name)
        }
        #expect(Texts.refusal("name: \(String(repeating: "ä", count: 200))\nnodes: {}") == nil)
        #expect(
            Texts.refusal("onFailure: halt\nnodes: {}")
                == "quotes.yaml:1: “onFailure” is “halt” and must be “stop” or “continue”")
        #expect(
            Texts.refusal("defaults: 1\nnodes: {}") == "quotes.yaml:1: “defaults” must be a mapping, not a number")
        #expect(Texts.refusal("then: []\nnodes: {}") == "quotes.yaml:1: “then” must be a mapping, not an array")
        #expect(
            Texts.refusal("then:\n  end: x\nnodes: {}")
                == "quotes.yaml:2: node “end”: a callback must be a mapping, not a string")
        #expect(
            Texts.refusal("nodes: {a: {type: No op}}")
                == "quotes.yaml:1: node “a”: “type” is “No op” and must be 1 to 64 of a-z, 0-9, “.” and “-”")
        #expect(
            Texts.refusal("nodes: {a: {type: noop, mayFail: 1}}")
                == "quotes.yaml:1: node “a”: “mayFail” must be true or false, not a number")
    }

    @Test func `names that cannot be used are refused`() {
        let form = "use 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-” for its name"
        for name in ["a b", "''", "ä", "a/b", String(repeating: "a", count: 65)] {
            #expect(Texts.refusal("nodes:\n  \(name): {type: noop}")?.hasSuffix(form) == true, "\(name)")
        }
        #expect(
            Texts.refusal("nodes:\n  01998b5e-7c2a-7000-8000-000000000001: {type: noop}")
                == "quotes.yaml:2: node “01998b5e-7c2a-7000-8000-000000000001”: a UUID cannot be the name of a node, because "
                + "references take it for a command")
        #expect(
            Texts.refusal("nodes:\n- {name: a, type: noop}\n- {name: a, type: noop}")
                == "quotes.yaml:3: node “a”: another node has this name")
        #expect(
            Texts.refusal("nodes:\n  a: {type: noop}\n  a: {type: noop}")
                == "quotes.yaml:3: the key “a” occurs twice in one mapping")
    }

    @Test func `a malformed after is refused`() {
        func after(_ text: String) -> String? {
            Texts.refusal("nodes:\n  a: {type: noop}\n  b: {type: noop, after: \(text)}")
        }
        #expect(
            after("null")
                == "quotes.yaml:3: node “b”: “after” must be a name, a list of names or a mapping of names to conditions, not "
                + "null")
        #expect(
            after("[1]") == "quotes.yaml:3: node “b”: “after” lists a number; each element must be a name")
        #expect(
            after("a b")
                == "quotes.yaml:3: node “b”: “after” has “a b”, which is neither a name nor the start of names with “*”"
        )
        #expect(after("a*b")?.contains("neither a name") == true && after("''")?.contains("neither a name") == true)
        #expect(
            after("{a: done}")
                == "quotes.yaml:3: node “b”: the condition of “a” is “done” and must be success, failure or end")
        #expect(
            after("{a: true}") == "quotes.yaml:3: node “b”: “a” must be a string, not a boolean; write it in quotes")
    }

    @Test func `an unknown node is refused with the nearest known one`() {
        #expect(
            Texts.refusal("nodes:\n  download: {type: noop}\n  sync:\n    type: noop\n    after:\n    - downlaod\n")
                == "quotes.yaml:6: node “sync”: there is no node “downlaod” to wait for; is it “download”?")
        #expect(
            Texts.refusal("nodes:\n  a: {type: noop, after: {zzzz: end}}")
                == "quotes.yaml:2: node “a”: there is no node “zzzz” to wait for")
        #expect(
            Texts.refusal("nodes: {a: {type: noop, after: a}}") == "quotes.yaml:1: node “a”: it waits for itself")
        #expect(
            Texts.refusal("nodes: {a: {type: noop, after: \"b*\"}}")
                == "quotes.yaml:1: node “a”: there is no other node with a name that starts with “b”")
        #expect(
            Texts.refusal("nodes: {a: {type: noop, after: \"*\"}}")
                == "quotes.yaml:1: node “a”: there is no other node, which “*” needs")
        #expect(
            Texts.refusal(
                "nodes: {ab: {type: noop}, c: {type: noop, after: {\"a*\": end, \"ab*\": success}}}")
                == "quotes.yaml:1: node “c”: “ab*” and another entry of “after” have different conditions for “ab”; name it "
                + "by itself")
    }

    @Test func `references that cannot be resolved are refused`() {
        func refusal(_ payload: String, after: String = "[]") -> String? {
            Texts.refusal(
                "nodes:\n  ok: {type: noop}\n  may: {type: noop, mayFail: true}\n  x:\n    type: noop\n    after: \(after)\n"
                    + "    payload:\n      v:\n        - \(payload)\n")
        }
        let start = "quotes.yaml:9: node “x”: "
        #expect(refusal("{$result: okk/a}") == start + "there is no node “okk” to refer to; is it “ok”?")
        #expect(refusal("{$result: x}") == start + "its payload refers to its own result")
        #expect(
            refusal("{$results: \"no*\"}") == start + "there is no other node with a name that starts with “no”")
        #expect(
            refusal("{$result: may}")
                == start
                + "its payload refers to the result of “may”, which may fail; give the reference a “default”")
        #expect(
            refusal("{$results: [ok, may]}")
                == start
                + "its payload refers to the result of “may”, which may fail; give the reference a “default”")
        #expect(
            refusal("{$result: ok}", after: "{ok: end}")
                == start
                + "its payload refers to the result of “ok”, and it runs also after a failure of that node; give the reference "
                + "a “default”")
        for payload in ["{$result: ok}", "{$result: ok, default: 1}"] {
            #expect(
                refusal(payload, after: "{ok: failure}")
                    == start
                    + "its payload refers to the result of “ok”, and it runs only after a failure of that node, which leaves no "
                    + "result; wait for “end” and give the reference a “default”")
        }
        #expect(refusal("{$flow: id}") == start + "only the callbacks under “then” can use “$flow”")
        #expect(
            refusal("{$result: 01998b5e-7c2a-7000-8000-000000000001}")
                == start
                + "its payload refers to the command 01998b5e-7c2a-7000-8000-000000000001, and can refer only to nodes of this "
                + "flow")
        #expect(
            refusal("{$result: 5}")
                == start
                + "payload, “/v/0”: “$result” must be a string, not a number; write {\"$literal\": …} around an "
                + "object that is not a reference")
    }

    @Test func `a callback that refers to a node is refused`() {
        #expect(
            Texts.refusal("nodes: {a: {type: noop}}\nthen:\n  end:\n    type: noop\n    payload: {x: {$result: a/b}}")
                == "quotes.yaml:5: node “end”: a callback cannot refer to the result of “a”; refer to the flow with “$flow”, "
                + "or add a node after “a”")
    }

    @Test(.enabled(if: runsSlowTests, "reads 100,000 nodes"))
    func `a flow that is too large is refused`() {
        let many = (0...100_000).map { "n\($0): {type: noop}" }.joined(separator: ", ")
        #expect(
            Texts.refusal("nodes: {\(many)}")
                == "quotes.yaml:1: the flow has 100001 nodes, and at most 100000 are possible")
        var text = "nodes:\n"
        for index in 0..<2000 { text += "  a\(index): {type: noop}\n" }
        for index in 0..<1000 { text += "  b\(index): {type: noop, after: \"a*\"}\n" }
        #expect(
            Texts.refusal(text)
                == "quotes.yaml:2502: the flow has more than 1000000 dependencies; put a noop between two groups of nodes"
        )
        let repeated = Array(repeating: "\"a*\"", count: 2000).joined(separator: ",")
        #expect(Texts.refusal(text + "  c: {type: noop, after: [\(repeated)]}\n") != nil)
    }
}
