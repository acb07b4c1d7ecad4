import Commands
import FlowText
import Operations
import Queue
import Testing

@Suite struct FlowBuilderTests {
    private struct Unreadable: Error {}

    private func document(_ text: String) throws -> FlowDocument {
        try FlowDocument(parsing: Array(text.utf8), file: nil)
    }

    @Test func `the options of the document are those of the flow and of its nodes`() throws {
        let text = """
            name: two
            qos: utility
            nodes:
              a: {type: x}
              b: {type: y, after: a, qos: background, retryLimit: 1}
            """
        let flow = try FlowBuilder { _ in OperationRegistry([]) }.flow(document(text))
        #expect(flow.name == "two" && flow.qos == .utility)
        #expect(flow.nodes.map(\.draft.qos) == [.utility, .background] && flow.nodes[1].draft.retryLimit == 1)
        #expect(flow.nodes[1].after == ["a": .success])
    }

    @Test func `an error names the node and its line, and keeps its cause`() throws {
        let text = "nodes:\n  a: {type: x}\n  b: {type: y, qos: urgent}"
        let option = try #require(throws: FlowBuildError.self) {
            try FlowBuilder { _ in OperationRegistry([]) }.flow(document(text))
        }
        #expect(option.node == "b" && option.position?.line == 3 && option.cause is PayloadError)
        #expect(option.description.contains("“b”") && option.description.contains("“qos” is “urgent”"))
        let registry = try #require(throws: FlowBuildError.self) {
            try FlowBuilder { type in
                guard type == "x" else { throw Unreadable() }
                return OperationRegistry([])
            }.flow(document(text))
        }
        #expect(registry.node == "b")
        let flow = try #require(throws: FlowBuildError.self) {
            try FlowBuilder { _ in OperationRegistry([]) }.flow(document("uniqueKey: \"\"\nnodes: {}"))
        }
        #expect(flow.node == nil && flow.cause is PayloadError)
    }
}
