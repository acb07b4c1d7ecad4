import Commands
import HTTPClient
import Operations
import TestSupport
import Testing

@testable import BuiltIn
@testable import Webhook

@Suite struct WebhookOperationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var script: String
        /// Nil: a success.
        var fault: CommandFailure.Fault?
        var isPushback = false
        var isAmbiguous = false
        var requests = 1
    }

    @Test(arguments: [
        Case(testDescription: "204", script: "* * : read; answer 204"),
        Case(testDescription: "200 before the body was read", script: "* * : answer 200"),
        Case(
            testDescription: "a redirect", script: #"* * : read; answer 308 header "Location: /b""#, fault: .final),
        Case(testDescription: "410", script: "* * : read; answer 410", fault: .final),
        Case(testDescription: "404", script: "* * : read; answer 404", fault: .command),
        Case(testDescription: "401", script: "* * : read; answer 401", fault: .command),
        Case(testDescription: "429", script: "* * : read; answer 429", fault: .command, isPushback: true),
        Case(testDescription: "502", script: "* * : read; answer 502", fault: .command, isPushback: true),
        Case(testDescription: "503", script: "* * : read; answer 503", fault: .link, isPushback: true),
        Case(testDescription: "500", script: "* * : read; answer 500", fault: .command),
        Case(testDescription: "no answer", script: "* * : read; close", fault: .reset, isAmbiguous: true),
    ])
    func `an answer is a success or the failure of its cause`(_ example: Case) async throws {
        try await WebhookHarness.with(example.script) { harness in
            let outcome = try await harness.outcome(of: try harness.execution(harness.payload()))
            #expect(outcome.failure?.fault == example.fault, "\(outcome)")
            #expect(outcome.failure?.isPushback ?? false == example.isPushback, "\(outcome)")
            #expect(outcome.failure?.ambiguous ?? false == example.isAmbiguous, "\(outcome)")
            #expect(outcome.failure?.reason.contains("hush") != true, "\(outcome)")
            #expect(harness.server.requests.count == example.requests)
        }
    }

    @Test func `the result has the id of the message, the executions and 4 KiB of the answer`() async throws {
        try await WebhookHarness.with("* * : read; answer 200 body 5000") { harness in
            let execution = try harness.execution(harness.payload(), claim: 3)
            let result = try #require(try await harness.outcome(of: execution).result)
            #expect(result["status"] == 200 && result["attempts"] == 3, "\(result)")
            #expect(result["message"]?.string == "msg_\(execution.id)")
            #expect(result["body"]?.string?.utf8.count == 4096 && result["bodyTruncated"] == true)
        }
    }

    @Test func `an answer of 1 GiB is not read to its end`() async throws {
        try await WebhookHarness.with("* * : read; answer 200 body 1G") { harness in
            let outcome = try await harness.outcome(of: try harness.execution(harness.payload()))
            #expect(outcome.result?["bodyTruncated"] == true, "\(outcome)")
        }
    }

    @Test func `every attempt sends the same bytes and the same id with a signature of its own`() async throws {
        try await WebhookHarness.with("* * #1 : read; answer 500\n* * : read; answer 200") { harness in
            let payload = harness.payload([.init("data", ["é": [1, nil]])])
            let (id, created) = (CommandID(), Timestamp.now + .seconds(-1000))
            let first = try harness.execution(payload, id: id, createdAt: created)
            #expect(try await harness.outcome(of: first).failure != nil)
            // The timestamp has whole seconds.
            let sent = Timestamp.now
            try await until("the next second") { Timestamp.now.milliseconds / 1000 > sent.milliseconds / 1000 }
            let second = try harness.execution(payload, claim: 2, id: id, createdAt: created)
            #expect(try await harness.outcome(of: second).result != nil)
            let requests = harness.server.requests
            try #require(requests.count == 2)
            #expect(requests[0].sha256 == requests[1].sha256)
            #expect(requests.allSatisfy { $0["webhook-id"] == "msg_\(id)" && $0["content-type"] == "application/json" })
            #expect(requests[0]["webhook-timestamp"] != requests[1]["webhook-timestamp"])
            #expect(requests[0]["webhook-signature"] != requests[1]["webhook-signature"])
        }
    }

    @Test func `a charged failure waits as the table of webhooks says, also without an answer`() async throws {
        try await WebhookHarness.with("* * #1-3 : read; answer 500\n* * : read; close") { harness in
            for (retries, seconds) in [(0, 5), (3, 7200), (500, 86_400), (1, 300)] {
                let execution = try harness.execution(harness.payload(), retries: retries)
                let backoff = try #require(try await harness.outcome(of: execution).failure?.backoff)
                #expect(abs(backoff.seconds - Double(seconds)) <= Double(seconds) / 4, "\(retries): \(backoff)")
            }
        }
    }

    @Test func `Retry-After is a lower bound, also as a date`() async throws {
        let date = "Thu, 13 Nov 2098 02:14:20 GMT"
        try await WebhookHarness.with("* * : read; answer 429 header \"Retry-After: \(date)\"") { harness in
            let outcome = try await harness.outcome(of: try harness.execution(harness.payload()))
            #expect(outcome.failure?.retryAfter == .seconds(86_400), "\(outcome)")
        }
    }

    @Test func `a receiver that is silent for the time of its endpoint is charged`() async throws {
        try await WebhookHarness.with("* * : read; hang") { harness in
            let operation = try harness.operation([harness.endpoint([harness.secret()], timeout: .seconds(1))])
            let outcome = try await harness.outcome(of: try harness.execution(harness.payload()), by: operation)
            #expect(outcome.failure?.fault == .command && outcome.failure?.ambiguous == true, "\(outcome)")
            #expect(outcome.failure?.reason.contains("within 1 s") == true, "\(outcome)")
        }
    }

    @Test func `a status that came in time counts, although the rest of the answer is late`() async throws {
        try await WebhookHarness.with("* * : read; answer 200 body 100 drip body 1 every 100ms") { harness in
            let operation = try harness.operation([harness.endpoint([harness.secret()], timeout: .seconds(1))])
            let outcome = try await harness.outcome(of: try harness.execution(harness.payload()), by: operation)
            #expect(outcome.result?["status"] == 200, "\(outcome)")
        }
    }

    @Test func `a 503 is charged where the destination answers other messages`() async throws {
        try await WebhookHarness.with("* * #2 : read; answer 503\n* * : read; answer 200") { harness in
            let operation = try harness.operation()
            let accepted = try await harness.outcome(of: try harness.execution(harness.payload()), by: operation)
            #expect(accepted.result != nil, "\(accepted)")
            let busy = try await harness.outcome(of: try harness.execution(harness.payload()), by: operation)
            #expect(busy.failure?.fault == .command && busy.failure?.backoff != nil, "\(busy)")
        }
    }

    @Test func `a signature that the receiver repeats is stored nowhere`() async throws {
        let script = """
            * * #1 : read; answer 200 header "Server: {webhook-signature}" body "{webhook-signature}"
            * *    : read; answer 400 body "bad {webhook-signature}"
            """
        try await WebhookHarness.with(script) { harness in
            let accepted = try await harness.outcome(of: try harness.execution(harness.payload()))
            let refused = try await harness.outcome(of: try harness.execution(harness.payload()))
            for request in harness.server.requests {
                let signature = try #require(request["webhook-signature"]).dropFirst(3)
                #expect(!"\(accepted) \(refused)".contains(signature), "\(accepted) \(refused)")
            }
            #expect(accepted.result?["body"] == "[redacted]", "\(accepted)")
        }
    }

    // MARK: Endpoints

    @Test func `a message without an endpoint, or with a secret that cannot be used, waits uncharged`() async throws {
        try await WebhookHarness.with("") { harness in
            let named = harness.payload([.init("endpoint", "shop")])
            let rows: [(JSONValue, [WebhookEndpoint], String)] = [
                (named, [harness.endpoint([try harness.secret()])], "no webhook endpoint “shop”"),
                (harness.payload(), [harness.endpoint([try harness.secret(mode: 0o644)])], "run: chmod 600"),
                (harness.payload(), [harness.endpoint([.file("/nonexistent/secret")])], "/nonexistent/secret"),
                (harness.payload(), [harness.endpoint([.environment("SLUICE_TEST_UNSET")])], "SLUICE_TEST_UNSET"),
                (harness.payload(), [harness.endpoint([try harness.secret("hush-hush", "bad")])], "neither whsec_"),
            ]
            for (payload, endpoints, words) in rows {
                let outcome = try await harness.outcome(
                    of: try harness.execution(payload), by: try harness.operation(endpoints))
                #expect(outcome.failure?.fault == .credential, "\(outcome)")
                #expect(outcome.failure?.reason.contains(words) == true, "\(outcome)")
                #expect(outcome.failure?.reason.contains("hush") != true, "\(outcome)")
            }
            #expect(harness.server.requests.isEmpty)
        }
    }

    @Test func `a message that its endpoint does not cover is given up`() async throws {
        try await WebhookHarness.with("") { harness in
            let secret = try harness.secret()
            let other = WebhookEndpoint(
                name: "shop", origin: Destination(scheme: "https", host: "127.0.0.1", port: harness.server.port),
                secrets: [secret], timeout: .seconds(20))
            let rows: [(JSONValue, [WebhookEndpoint], String)] = [
                (harness.payload([.init("endpoint", "shop")]), [other], "is for https://127.0.0.1"),
                (harness.payload(), [other], "is not encrypted"),
                (
                    harness.payload(), [harness.endpoint([secret]), harness.endpoint([secret], named: "b")],
                    "“billing” and “b”"
                ),
            ]
            for (payload, endpoints, words) in rows {
                let outcome = try await harness.outcome(
                    of: try harness.execution(payload), by: try harness.operation(endpoints))
                #expect(outcome.failure?.fault == .final, "\(outcome)")
                #expect(outcome.failure?.reason.contains(words) == true, "\(outcome)")
            }
            #expect(harness.server.requests.isEmpty)
        }
    }

    @Test func `the limit of retries is that of the table, unless the producer sets one`() throws {
        let operation = BuiltInOperations.registry()["webhook"]
        let attributes = try #require(operation).inspect(["url": "https://a/b", "type": "a"])
        #expect(attributes.retryLimit == 9 && attributes.idempotent)
    }

    // MARK: The package standardwebhooks

    @Test(.enabled(if: isAvailable(PythonScript.has("standardwebhooks")), "no Python has standardwebhooks"))
    func `the package standardwebhooks accepts the message that arrives, with each of two secrets`() async throws {
        try await WebhookHarness.with("* * : read; answer 200") { harness in
            let other = "whsec_" + Base64.encode([UInt8](repeating: 7, count: 32))
            let endpoint = harness.endpoint([try harness.secret(), try harness.secret(other, "other")])
            let execution = try harness.execution(harness.payload([.init("data", ["name": "日本\u{301}"])]))
            let outcome = try await harness.outcome(of: execution, by: try harness.operation([endpoint]))
            #expect(outcome.result != nil, "\(outcome)")
            let body = try #require(
                try WebhookPayload(try JSONValue(parsing: execution.payload))
                    .prepared(for: execution.id, now: execution.command.createdAt).body)
            let request = try #require(harness.server.requests.first)
            #expect(request.sha256 == sha256(body))
            func received(verifiedWith secret: String) throws -> JSONValue {
                [
                    "secret": .string(secret), "id": .string(try #require(request["webhook-id"])),
                    "timestamp": .integer(try #require(request["webhook-timestamp"].flatMap(Int64.init))),
                    "signature": .string(try #require(request["webhook-signature"])),
                    "body": .string(String(decoding: body, as: UTF8.self)),
                ]
            }
            let stranger = "whsec_" + Base64.encode([UInt8](repeating: 8, count: 32))
            let answers = try await PythonScript.lines(
                "webhook-vectors.py", needing: "standardwebhooks", ["verify"],
                input: [
                    try received(verifiedWith: WebhookHarness.secret), try received(verifiedWith: other),
                    try received(verifiedWith: stranger),
                ])
            #expect(answers == ["ok", "ok", "No matching signature found"])
        }
    }
}
