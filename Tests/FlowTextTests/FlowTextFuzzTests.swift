import Commands
import FlowText
import TestSupport
import Testing

@Suite struct FlowTextFuzzTests {
    private static let seeds = [
        """
        name: get-all-quotes
        qos: utility
        onFailure: stop
        defaults: {retryLimit: 2, idempotent: true}
        nodes:
          download: {type: download, payload: &p {url: "https://q.example.com/all.json", n: 0x1F}}
          sync: {type: sync, payload: {file: {$result: download/path}, again: *p}}
          notify: {type: request, after: [sync, "down*"], payload: {$text: [a, {$result: sync/x, default: ~}]}}
          last:
            type: noop
            after: {sync: end}
            mayFail: true
            payload: |
              two
              lines
        then:
          end: {type: noop, payload: {$flow: id}}
        """,
        #"""
        {"name": "x", "nodes": [{"name": "a", "type": "noop", "payload": {"k": [1, 2.5e3, "\u00e4\n", null]}},
         {"name": "b", "type": "noop", "after": {"a": "failure"}, "payload": {"$results": "a*", "default": 0}}],
         "then": {"success": {"type": "noop"}}}
        """#,
    ]

    @Test func `no text crashes the reader of documents`() {
        var random = SeededRandom.announced("flow documents")
        var accepted = 0
        for _ in 0..<(isQuickRun ? 2000 : 10_000) {
            let text = mutated(Array(Self.seeds[random.number(in: 0..<2)].utf8), &random)
            do {
                let document = try FlowDocument(parsing: text, file: "f")
                accepted += 1
                check(document)
            } catch {
                #expect(!error.problem.isEmpty && error.description.hasPrefix("f:"))
                let lines = text.count { $0 == 0x0A || $0 == 0x0D || $0 == 0x85 || $0 == 0xA8 || $0 == 0xA9 } + 2
                #expect(error.position.map { (1...lines).contains($0.line) && $0.column > 0 } ?? true, "\(error)")
            }
        }
        print("flow documents: \(accepted) accepted")
        #expect(accepted > 50)
    }

    @Test func `no line crashes the reader of lines`() {
        var random = SeededRandom.announced("flow lines")
        let lines = [
            #"{"flow": {"name": "f", "onFailure": "stop", "then": {"end": {"type": "noop"}}}}"#,
            #"{"node": "a", "type": "noop", "payload": {"x": [1, {"$literal": 2}]}}"#,
            #"{"node": "b", "type": "noop", "after": ["a"], "payload": {"f": {"$result": "a/path"}}}"#,
            #"{"node": "c", "type": "noop", "after": {"*": "end"}, "mayFail": true}"#,
        ]
        var nodes = 0
        for _ in 0..<5000 {
            var reader = FlowLines(file: nil)
            for line in lines {
                let text = random.chance(0.5) ? Array(line.utf8) : mutated(Array(line.utf8), &random)
                _ = try? reader.read(text)
            }
            nodes += reader.nodeCount
        }
        print("flow lines: \(nodes) nodes")
        #expect(nodes > 1000)
    }

    @Test func `every value of a YAML text is found at its position`() throws {
        var random = SeededRandom.announced("YAML positions")
        for _ in RandomRounds("YAML positions", 500...3000) {
            let text = mutated(Array(Self.seeds[random.number(in: 0..<2)].utf8), &random)
            if let value = try? YAMLText.parse(text) { #expect(count(value) == count(value.value)) }
            if let value = try? YAMLText.parseConfiguration(text) { #expect(count(value) == count(value.value)) }
        }
    }

    /// A document that was accepted names only its own nodes.
    private func check(_ document: FlowDocument) {
        let names = Set(document.nodes.map(\.name))
        #expect(names.count == document.nodes.count)
        for node in document.nodes {
            #expect(names.isSuperset(of: node.after.keys) && node.after[node.name] == nil && FlowNode.isName(node.name))
            #expect(node.template.withHoles.bytes.count > 0 && !node.template.usesFlow)
        }
        #expect(document.callbacks.allSatisfy { $0.node.template.parents.isEmpty && $0.node.after.isEmpty })
    }

    private func count(_ value: LocatedValue) -> Int {
        #expect(value.position.line > 0 && value.position.column > 0)
        return 1 + (value.members?.reduce(0) { $0 + count($1.value) } ?? 0)
            + (value.elements?.reduce(0) { $0 + count($1) } ?? 0)
    }

    private func count(_ value: JSONValue) -> Int {
        1 + (value.members?.reduce(0) { $0 + count($1.value) } ?? 0)
            + (value.elements?.reduce(0) { $0 + count($1) } ?? 0)
    }

    private func mutated(_ text: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        let pieces = [
            "\n", " ", "\t", ":", "- ", "[", "]", "{", "}", "*", "&a ", "*a", "!!int ", "!", "|", ">", "\"", "'", "#",
            "---\n",
            "<<", "$result", "$flow", "$literal", "default", "~", "\u{85}", "\u{2028}", "\u{FEFF}", "?", "%", "@", "0x",
            "1e999",
            ".inf", "\\u", "😀", "\r", "..", "\0",
        ]
        var text = text
        for _ in 0..<random.number(in: 1..<5) {
            let position = random.number(in: 0..<max(text.count, 1))
            switch random.number(in: 0..<6) {
            case 0: if position < text.count { text[position] = UInt8.random(in: 0...255, using: &random) }
            case 1: if position < text.count { text.remove(at: position) }
            case 2: text.insert(contentsOf: pieces[random.number(in: 0..<pieces.count)].utf8, at: position)
            case 3:
                let end = min(position + random.number(in: 0..<40), text.count)
                if position < end {
                    text.insert(contentsOf: text[position..<end], at: random.number(in: 0..<text.count))
                }
            case 4:
                let end = min(position + random.number(in: 0..<20), text.count)
                if position < end { text.removeSubrange(position..<end) }
            default: if random.chance(0.1) { text = Array(text.prefix(position)) }
            }
        }
        return text
    }
}
