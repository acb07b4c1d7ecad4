import Commands
import Foundation
import HTTPClient
import TestSupport
import Testing

@Suite struct RequestOperationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var script: String
        var method = "GET"
        var body: JSONValue?
        var accept: String?
        var claim = 1
        /// Nil: a success.
        var fault: CommandFailure.Fault?
        var isAmbiguous = false
        var status: Int64?
        /// Requests that the server has seen.
        var requests = 1
    }

    @Test(arguments: [
        Case(testDescription: "200", script: #"* * : answer 200 body "fine""#, status: 200),
        Case(
            testDescription: "HEAD with a length and no body",
            script: #"* * : answer 200 length 5000"#, method: "HEAD", status: 200),
        Case(
            testDescription: "204 with a length", script: #"* * : answer 204 header "Content-Length: 7""#, status: 204),
        Case(
            testDescription: "304 without a condition", script: #"* * : answer 304 header "Content-Length: 7""#,
            fault: .final),
        Case(
            testDescription: "304 that is accepted", script: #"* * : answer 304 header "Content-Length: 7""#,
            accept: "2xx,304", status: 304),
        Case(testDescription: "404", script: "* * : answer 404", fault: .final),
        Case(testDescription: "404 that is accepted", script: "* * : answer 404", accept: "2xx,404", status: 404),
        Case(
            testDescription: "404 that is accepted, with a body that is not read to its end",
            script: "* * : answer 404 body 2M", accept: "404", status: 404),
        Case(testDescription: "500 that is accepted", script: "* * : answer 500", accept: "5xx", status: 500),
        Case(testDescription: "200 that is not accepted", script: "* * : answer 200", accept: "201", fault: .final),
        Case(testDescription: "503", script: "* * : answer 503", fault: .link),
        Case(testDescription: "401", script: "* * : answer 401", fault: .credential),
        Case(testDescription: "DELETE of nothing", script: "* * : answer 404", method: "DELETE", fault: .final),
        Case(
            testDescription: "DELETE of what an earlier execution has deleted", script: "* * : answer 410",
            method: "DELETE", claim: 2, status: 410),
        Case(
            testDescription: "POST without an answer", script: "* * : read; close", method: "POST", body: "x",
            fault: .reset, isAmbiguous: true),
        Case(
            testDescription: "POST answered before its body was sent",
            script: #"* * : answer 413 header "Connection: close"; close"#, method: "POST", body: "x", fault: .final),
        Case(
            testDescription: "POST answered 303",
            script: #"* * : read; answer 303 header "Location: /login""#, method: "POST", body: "x", fault: .final),
        Case(
            testDescription: "POST answered 303, accepted",
            script: #"* * : read; answer 303 header "Location: /done""#, method: "POST", body: "x", accept: "2xx,303",
            status: 303),
        Case(
            testDescription: "a body that is cut off", script: #"* * : answer 200 body "x" length 2; close"#,
            fault: .reset, isAmbiguous: true),
        Case(
            testDescription: "POST whose answer is cut off",
            script: #"* * : read; answer 200 body "x" length 2; close"#,
            method: "POST", body: "x", fault: .reset, isAmbiguous: true),
        Case(
            testDescription: "POST answered 302", script: #"* * : read; answer 302 header "Location: /a""#,
            method: "POST", body: "x", fault: .final),
        Case(
            testDescription: "103 before 200",
            script: #"* * : interim 103 header "Link: </a>"; answer 200"#, status: 200),
        Case(
            testDescription: "a redirect of GET",
            script: "GET /b : answer 200\n* * : answer 307 header \"Location: /b\"",
            status: 200, requests: 2),
        Case(
            testDescription: "a loop of redirects", script: #"* * : answer 302 header "Location: /a""#, fault: .final),
    ])
    func `an answer is a success or the failure of its cause`(_ example: Case) async throws {
        try await RequestHarness.with(example.script) { harness in
            var members: [JSONValue.Member] = [
                .init("url", harness.url("/a")), .init("method", .string(example.method)),
            ]
            if let body = example.body { members.append(.init("body", body)) }
            if let accept = example.accept { members.append(.init("accept", .string(accept))) }
            let outcome = try await harness.outcome(.object(members), claim: example.claim)
            #expect(outcome.failure?.fault == example.fault, "\(outcome)")
            #expect(outcome.failure?.ambiguous ?? false == example.isAmbiguous, "\(outcome)")
            #expect(outcome.result?["status"]?.integer == example.status, "\(outcome)")
            #expect(outcome.result?["alreadyGone"]?.bool ?? false == (example.status == 410))
            #expect(harness.server.requests.count == example.requests)
        }
    }

    @Test func `a body arrives as it was given, with the media type of its kind`() async throws {
        let script = #"* * : read; answer 200 header "X-Type: {content-type}""#
        try await RequestHarness.with(script) { harness in
            let file = try harness.directory.file("a.csv", Array("a,b\n".utf8))
            let bodies: [(JSONValue.Member, type: String, bytes: [UInt8])] = [
                (.init("body", "grüße"), "text/plain; charset=utf-8", Array("grüße".utf8)),
                (.init("json", ["a": [1, nil]]), "application/json", Array(#"{"a":[1,null]}"#.utf8)),
                (.init("bodyBase64", "AAH/"), "application/octet-stream", [0, 1, 255]),
                (.init("bodyFile", .string(file)), "text/csv; charset=utf-8", Array("a,b\n".utf8)),
            ]
            for (member, type, bytes) in bodies {
                let payload: JSONValue = .object([
                    .init("url", harness.url("/a")), .init("method", "POST"), .init("keepHeaders", ["X-Type"]), member,
                ])
                let outcome = try await harness.outcome(payload)
                #expect(outcome.result?["headers"]?["x-type"]?.string == type, "\(outcome)")
                #expect(harness.server.requests.last?.bytes == bytes.count, "\(member.name)")
            }
        }
    }

    @Test func `the body of a success is saved to a file, and no other`() async throws {
        let script = """
            * /cut : answer 200 body "x" length 2; close
            * /missing : answer 404 body "no"
            * /large : answer 200 body 300k
            """
        try await RequestHarness.with(script) { harness in
            let path = try harness.directory.file("out", [1])
            func outcome(_ name: String, maxBody: Int64 = 300 << 10, accept: String = "2xx,404") async throws
                -> OperationOutcome
            {
                try await harness.outcome(
                    .object([
                        .init("url", harness.url(name)), .init("saveTo", .string(path)),
                        .init("maxBody", .integer(maxBody)),
                        .init("accept", .string(accept)),
                    ]))
            }
            let cut = try await outcome("/cut")
            #expect(cut.failure?.fault == .reset, "\(cut)")
            let long = try await outcome("/large", maxBody: 300_000)
            #expect(long.failure?.fault == .final && long.failure?.reason.contains("maxBody") == true, "\(long)")
            let missing = try await outcome("/missing")
            #expect(missing.result?["body"]?.string == "no" && missing.result?["saved"] == nil, "\(missing)")
            #expect(contents(of: path) == [1])
            let saved = try await outcome("/large")
            #expect(saved.result?["saved"]?["bytes"]?.integer == 300 << 10, "\(saved)")
            #expect(saved.result?["saved"]?["path"]?.string == path && saved.result?["body"] == nil)
            #expect(contents(of: path) == [UInt8](repeating: UInt8(ascii: "x"), count: 300 << 10))
            let names = try FileManager.default.contentsOfDirectory(atPath: harness.directory.path)
            #expect(!names.contains { $0.hasSuffix(".part") })
        }
    }

    @Test func `the failure of a body that is cut off has its end, so that one that never goes further is found`()
        async throws
    {
        try await RequestHarness.with(#"* * : answer 200 body "xyz" length 1000; close"#) { harness in
            let outcome = try await harness.outcome(.object([.init("url", harness.url("/a"))]))
            #expect(outcome.failure?.bodyEnd == ProgressCounter.BodyEnd(offset: 3, length: 1000), "\(outcome)")
        }
    }

    @Test func `a file that has changed since the submit is not sent`() async throws {
        try await RequestHarness.with("") { harness in
            let file = try harness.directory.file("a", [1, 2, 3])
            let execution = try harness.execution([
                "url": harness.url("/a"), "method": "PUT", "bodyFile": .string(file),
            ])
            _ = try harness.directory.file("a", [1, 2, 3, 4])
            let outcome = try await harness.outcome(of: execution)
            #expect(outcome.failure?.fault == .final && outcome.failure?.ambiguous == false, "\(outcome)")
            #expect(harness.server.requests.isEmpty)
        }
    }

    /// Also where a measurement, one each 250 ms, has seen that the peer had received the body.
    @Test(arguments: ["body", "bodyFile"], ["close", "read; wait 600ms; close"])
    func `a PUT is sent again where its kept connection turns out to be closed`(
        _ kind: String, _ end: String
    ) async throws {
        try await RequestHarness.with("* * #2 : \(end)\n* * : read; answer 200") { harness in
            let file = try harness.directory.file("a", [1, 2, 3])
            for _ in 0..<2 {
                let outcome = try await harness.outcome(
                    .object([
                        .init("url", harness.url("/a")), .init("method", "PUT"),
                        .init(kind, .string(kind == "body" ? "x" : file)),
                    ]))
                #expect(outcome.result?["status"]?.integer == 200, "\(outcome)")
            }
            #expect(harness.server.requests.count == 3)
        }
    }

    @Test func `three commands that are redirected to one other host are held up by their destination`() async throws {
        let script = "* * : read; answer 302 header \"Location: http://portal.invalid/login\""
        try await RequestHarness.with(script) { harness in
            var faults: [CommandFailure.Fault?] = []
            for _ in 0..<3 {
                let outcome = try await harness.outcome(["url": harness.url("/a"), "method": "POST", "body": "x"])
                faults.append(outcome.failure?.fault)
            }
            #expect(faults == [.command, .command, .destination])
        }
    }

    @Test func `a 503 is charged where the destination answers other requests`() async throws {
        try await RequestHarness.with("* /busy : answer 503\n* * : answer 200") { harness in
            let unknown = try await harness.outcome(["url": harness.url("/busy")])
            #expect(unknown.failure?.fault == .link, "\(unknown)")
            let other = try await harness.outcome(["url": harness.url("/a")])
            #expect(other.result != nil, "\(other)")
            let known = try await harness.outcome(["url": harness.url("/busy")])
            #expect(known.failure?.fault == .command, "\(known)")
        }
    }

    @Test(.enabled(if: runsSlowTests, "takes 11 s"))
    func `the answer to a POST may take longer than that to an upload`() async throws {
        try await RequestHarness.with("* * : read; answer 200 body 44 drip body 1 every 250ms") { harness in
            let outcome = try await harness.outcome(["url": harness.url("/a"), "method": "POST", "body": "x"])
            #expect(outcome.result?["body"]?.string?.utf8.count == 44, "\(outcome)")
        }
    }

    @Test func `the time limit holds for all redirects together`() async throws {
        let script = "* * : wait 300ms; answer 302 header \"Location: /{number}\""
        try await RequestHarness.with(script) { harness in
            let outcome = try await harness.outcome(["url": harness.url("/a"), "timeout": 1, "redirects": 20])
            #expect(outcome.failure?.reason.contains("within 1 s") == true, "\(outcome)")
            #expect(harness.server.requests.count <= 5)
        }
    }

    @Test func `a redirect to another origin gets neither the credential nor secret headers`() async throws {
        let other = try await ScriptedServer()
        try await stopping(other) {
            let script = "* * : answer 302 header \"Location: \(other.origin)/b\""
            try await RequestHarness.with(script, token: "hush-hush") { harness in
                let outcome = try await harness.outcome([
                    "url": harness.url("/a"), "headers": ["X-Api-Token": "secret", "X-Tag": "plain"],
                ])
                #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
                #expect(outcome.result?["url"]?.string == "\(other.origin)/b")
                let first = try #require(harness.server.requests.first)
                #expect(Self.header(first, "authorization") == "Bearer hush-hush")
                #expect(Self.header(first, "x-api-token") == "secret")
                let second = try #require(other.requests.first)
                #expect(Self.header(second, "authorization") == nil && Self.header(second, "x-api-token") == nil)
                #expect(Self.header(second, "x-tag") == "plain")
            }
        }
    }

    @Test(arguments: ["GET", "POST"]) func `a request that takes too long ends as its time limit says`(
        _ method: String
    ) async throws {
        try await RequestHarness.with("* * : read; hang") { harness in
            let outcome = try await harness.outcome([
                "url": harness.url("/a"), "method": .string(method), "timeout": 1,
            ])
            #expect(outcome.failure?.fault == .command && outcome.failure?.ambiguous == true, "\(outcome)")
            #expect(outcome.failure?.reason.contains("within 1 s") == true, "\(outcome)")
        }
    }

    @Test func `a whole body of a JSON type is a value of the result too`() async throws {
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        let script = #"""
            * /new : answer 201 header "Content-Type: application/json; charset=utf-8" body "{\"id\":18446744073709551614}"
            * /problem : answer 200 header "Content-Type: application/problem+json" body "[1,{}]"
            * /text : answer 200 header "Content-Type: text/plain" body "{}"
            * /broken : answer 200 header "Content-Type: application/json" body "{"
            * /deep : answer 200 header "Content-Type: application/json" body "\#(deep)"
            * /none : answer 204
            """#.replacing("\\#(deep)", with: deep)
        try await RequestHarness.with(script) { harness in
            func json(_ path: String) async throws -> JSONValue? {
                let outcome = try await harness.outcome(["url": harness.url(path)])
                #expect(outcome.result?["status"] != nil, "\(outcome)")
                return outcome.result?["json"]
            }
            let (new, problem) = (try await json("/new"), try await json("/problem"))
            #expect(new == ["id": .decimal("18446744073709551614")] && problem == [1, [:]])
            for path in ["/text", "/broken", "/deep", "/none"] {
                let value = try await json(path)
                #expect(value == nil, "\(path)")
            }
        }
    }

    @Test func `a secret that an escape hides in a body of JSON is not in its value`() async throws {
        let script = #"* * : answer 200 header "Content-Type: application/json" body "{\"token\":\"hush\\u002dhush\"}""#
        try await RequestHarness.with(script, token: "hush-hush") { harness in
            let outcome = try await harness.outcome(["url": harness.url("/a")])
            #expect(outcome.result?["body"] != nil && outcome.result?["json"] == nil, "\(outcome)")
        }
    }

    @Test func `a long body is cut at 64 KiB, and bytes that are not text are base64`() async throws {
        try await RequestHarness.with("* /long : answer 200 body 65537\n* * : answer 200 body \"\\x00\\xff\"") {
            harness in
            let long = try await harness.outcome(["url": harness.url("/long")])
            #expect(long.result?["body"]?.string?.utf8.count == 65_536 && long.result?["bodyTruncated"] == true)
            let binary = try await harness.outcome(["url": harness.url("/binary")])
            #expect(binary.result?["body"] == "AP8=" && binary.result?["bodyEncoding"] == "base64", "\(binary)")
        }
    }

    @Test func `the headers of a result have no secrets`() async throws {
        let script = #"* * : answer 200 header "X-Token: hush-hush" header "X-Total: 7" header "X-Echo: hush-hush""#
        try await RequestHarness.with(script, token: "hush-hush") { harness in
            let outcome = try await harness.outcome([
                "url": harness.url("/a"), "keepHeaders": ["x-token", "x-total", "x-echo"],
            ])
            let headers = outcome.result?["headers"]
            #expect(headers?["x-total"] == "7" && headers?["x-token"] == nil, "\(outcome)")
            #expect(headers?["x-echo"] == "[redacted]")
        }
    }

    private static func header(_ request: ReceivedRequest, _ name: String) -> String? {
        request.headers.first { $0.name.lowercased() == name }?.value
    }
}
