import Commands
import Store
import TestSupport
import Testing

@testable import Operations
@testable import Work

/// References to results, as a worker resolves them.
@Suite struct PayloadReferencesTests {
    /// Has a destination at `/url`, and refuses a payload with `bad`.
    private struct Operation: CommandOperation {
        let type = "noop"

        func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
            if payload["bad"] != nil { throw PayloadError(.data, "“bad” is not allowed") }
            let url = payload["url"]?.string
            return PayloadAttributes(destination: url.flatMap { Destination($0) } ?? .none, idempotent: true)
        }

        func execute(_ execution: CommandExecution) async throws -> [UInt8]? { nil }
    }

    private let store: any CommandStore = MemoryStore(shardCount: 1, types: ["noop"])

    /// Ends the nodes “a” and “b” with these results, and resolves the payload of “c”, which waits for both.
    private func resolve(
        _ payload: String, a: String? = nil, b: String? = nil, destination: Destination = .none
    ) throws -> String {
        let draft = CommandDraft(
            type: "noop", payload: Array(payload.utf8), destination: destination, idempotent: true)
        let noop = CommandDraft(type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
        let plan = try FlowPlan(
            FlowDraft(
                "test",
                nodes: [
                    FlowNode("a", noop), FlowNode("b", noop), FlowNode("c", draft, after: ["a": .success, "b": .end]),
                ]))
        let flow = try store.submit(plan, allowUnknownTypes: false).submission.id
        try store.open(Session(seat: 0, epoch: 1, pid: 1, startTime: 1, bootID: "test"))
        let nodes = try store.flowNodes(flow, after: 0, limit: 9)
        for (node, result) in zip(nodes, [a, b]) {
            let id = node.command.id
            _ = try store.apply(
                [.claim(id, sent: true), .end(id, claim: 1, .success(result: result.map { Array($0.utf8) }))], shard: 0,
                seat: 0, epoch: 1, timeout: .seconds(1))
        }
        let command = try #require(try store.command(nodes[2].command.id))
        return String(decoding: try resolved(command, payload), as: UTF8.self)
    }

    private func resolved(_ command: Command, _ payload: String) throws -> [UInt8] {
        let execution = CommandExecution(
            command: command, payload: Array(payload.utf8), meter: TransferMeter(.up, offset: 0, total: 0))
        return try PayloadReferences(store: store).resolved(execution, for: Operation()).payload
    }

    @Test func `results take the places of their references`() throws {
        #expect(
            try resolve(#"{"path":{"$result":"a/path"},"all":{"$results":"*"}}"#, a: #"{"path":"/x"}"#, b: "[1]")
                == #"{"path":"/x","all":[{"path":"/x"},[1]]}"#)
        #expect(try resolve(#"{"x":{"$result":"b","default":7}}"#, a: "1") == #"{"x":7}"#)
        #expect(try resolve(#"{"x":{"$literal":{"$result":"a"}}}"#) == #"{"x":{"$result":"a"}}"#)
    }

    @Test func `a value that looks like a reference is inserted as it is`() throws {
        #expect(
            try resolve(#"{"x":{"$result":"a"}}"#, a: #"{"$result":"b"}"#, b: #""secret""#)
                == #"{"x":{"$result":"b"}}"#)
    }

    @Test func `a reference that leads to nothing fails the command for good`() throws {
        let failure = try #require(throws: CommandFailure.self) {
            try resolve(#"{"x":{"$result":"a/path"}}"#, a: #"{"file":"/x"}"#)
        }
        #expect(failure.fault == .final && !failure.ambiguous)
        #expect(failure.reason.contains("“a”") && failure.reason.contains("/path"), "\(failure.reason)")
    }

    @Test func `a result must not choose the destination, and the operation checks the whole payload`() throws {
        let url = #"{"url":{"$text":["https://",{"$result":"a"},"/x"]}}"#
        let host = Destination(scheme: "https", host: "one.example", port: 443)
        #expect(
            try resolve(url, a: #""one.example""#, destination: host) == #"{"url":"https://one.example/x"}"#)
        let other = try #require(throws: CommandFailure.self) {
            try resolve(url, a: #""two.example""#, destination: host)
        }
        #expect(other.fault == .final && other.reason.contains("two.example"), "\(other.reason)")
        let refused = try #require(throws: CommandFailure.self) {
            try resolve(#"{"bad":{"$result":"a"}}"#, a: "1")
        }
        #expect(refused.fault == .final && refused.reason.contains("“bad” is not allowed"), "\(refused.reason)")
    }

    @Test func `the payload of a command that waits for no other is data`() throws {
        let payload = #"{"x":{"$result":"a"}}"#
        let draft = CommandDraft(type: "noop", payload: Array(payload.utf8), destination: .none, idempotent: true)
        let id = try #require(store.submit([draft], allowUnknownTypes: false).first).get().id
        let command = try #require(try store.command(id))
        #expect(try resolved(command, payload) == Array(payload.utf8))
    }
}
