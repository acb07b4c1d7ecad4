import Commands
import Operations
import Store
import Testing

@testable import Queue

/// The checks of commands that programs have submitted by SQL.
@Suite struct InboxCheckTests {
    /// An operation of a built-in type, as the coordinator has it.
    private struct Upload: CommandOperation {
        let type = "upload"
        let rule = PayloadRule(destination: "/to")

        func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
            guard payload["file"]?.string != nil else { throw PayloadError(.data, "“file” is missing") }
            var attributes = try rule.attributes(of: payload)
            attributes.idempotent = true
            attributes.total = 7
            return attributes
        }

        func execute(_ execution: CommandExecution) async throws -> [UInt8]? { nil }
    }

    private let check = InboxCheck(registry: OperationRegistry([Upload()])) { type in
        type == "own" ? PayloadRule(isIdempotent: true, destination: "/url", retryLimit: 2) : nil
    }

    private func verdict(_ type: String, _ payload: String, _ options: String = "{}") throws -> InboxVerdict {
        let entry = InboxEntry(
            id: CommandID(), type: type, payload: Array(payload.utf8), options: Array(options.utf8))
        return try #require(try check.verdicts(on: [entry]).first)
    }

    private func draft(_ type: String, _ payload: String, _ options: String = "{}") throws -> CommandDraft {
        switch try verdict(type, payload, options) {
        case .draft(let draft): return draft
        case .refused(let reason, _): throw PayloadError(.data, reason)
        }
    }

    private func refusal(_ type: String, _ payload: String, _ options: String = "{}") throws -> (String, CommandDraft)?
    {
        guard case .refused(let reason, let draft) = try verdict(type, payload, options) else { return nil }
        return (reason, draft)
    }

    @Test func `an operation checks the payload, which is kept byte for byte`() throws {
        let payload = #"{"to": "https://a.test/x",  "file": "/b"}"#
        let draft = try draft(
            "upload", payload, #"{"qos": "utility", "uniqueKey": "u", "notBefore": "2100-01-01T00:00:00.000Z"}"#)
        #expect(draft.payload == Array(payload.utf8) && draft.destination.text == "https://a.test:443")
        #expect(draft.idempotent && draft.total == 7 && draft.qos == .utility && draft.uniqueKey == "u")
        #expect(draft.notBefore == Timestamp(rfc3339: "2100-01-01T00:00:00Z"))
    }

    @Test func `the stored rule of a type without an operation counts`() throws {
        let own = try draft("own", #"{"url": "https://a.test/x"}"#)
        #expect(own.idempotent && own.retryLimit == 2 && own.destination.text == "https://a.test:443")
        let other = try draft("other", "{}", #"{"destination": "https://b.test"}"#)
        #expect(!other.idempotent && other.destination.text == "https://b.test:443")
    }

    @Test(
        arguments: [
            ("upload", "{}", "{}", "“file” is missing"),
            ("upload", #"{"file": "b", "to": "https://a.test"}"#, "{}", "needs a path that starts with “/”"),
            ("own", "{}", "{}", "the payload has no text at “/url”"),
            ("own", "{", "{}", "the payload is not valid JSON"),
            ("other", "{}", "[]", "the options must be an object"),
            ("other", "{}", "", "the options are not valid JSON"),
            ("other", "{}", #"{"qos": "urgent"}"#, "“qos” is “urgent”"),
            ("other", "{}", #"{"batch": "x"}"#, "“batch” is “x”"),
            ("flow", "{}", "{}", "a flow is submitted as a whole"),
            ("exec", "{}", "{}", "programs are off"),
            ("A", "{}", "{}", "is not a command type"),
        ])
    func `a refusal names its reason, and the dead letter has the payload`(
        _ type: String, _ payload: String, _ options: String, _ reason: String
    ) throws {
        let (found, draft) = try #require(try refusal(type, payload, options))
        #expect(found.contains(reason), "\(found)")
        #expect(draft.type == type && draft.payload == Array(payload.utf8))
    }

    @Test func `a dead letter has the options that could be read`() throws {
        let options =
            #"{"qos": "background", "uniqueKey": "u", "orderingKey": "o", "deadline": "soon", "retryLimit": 1}"#
        let (_, draft) = try #require(try refusal("other", "{}", options))
        #expect(draft.qos == .background && draft.uniqueKey == "u" && draft.orderingKey == "o" && draft.retryLimit == 5)
    }

    @Test func `a rule that cannot be read fails the call, so that no command is refused for it`() {
        let failure = StoreError(.unreachable, "away")
        let check = InboxCheck(registry: OperationRegistry([])) { _ throws(StoreError) in throw failure }
        let entry = InboxEntry(id: CommandID(), type: "own", payload: [], options: [])
        #expect(throws: failure) { try check.verdicts(on: [entry]) }
    }
}
