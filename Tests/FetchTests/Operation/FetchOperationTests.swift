import Commands
import Foundation
import HTTPClient
import Host
import TestSupport
import Testing

@testable import Fetch
@testable import Transfers

@Suite struct FetchOperationTests {
    private static let headers = [JSONValue.Member("headers", ["Authorization": "Bearer one"])]

    @Test func `a response is stored, and confirmed by a 304`() async throws {
        let script = """
            GET /a with If-None-Match "\\"1\\"" : answer 304 header "ETag: \\"1\\"" header "X-New: 2"
            GET /a : answer 200 header "ETag: \\"1\\"" header "Content-Type: text/plain" body "hello"
            """
        try await FetchHarness.with(script) { harness in
            if case .ask(nil, _) = try harness.look("/a") {} else { Issue.record("something is stored") }
            let first = try await harness.fetch("/a")
            #expect(
                first.result?["source"]?.string == "network" && first.result?["body"]?.string == "hello", "\(first)")
            let shown = try #require(try harness.look("/a").shown)
            #expect(shown.result["body"]?.string == "hello" && shown.staleBecause == "asking")
            let second = try await harness.fetch("/a")
            #expect(second.result?["source"]?.string == "notModified", "\(second)")
            #expect(second.result?["body"]?.string == "hello" && second.result?["changed"]?.bool == false)
            #expect(harness.server.requests.count == 2)
        }
    }

    @Test func `a fresh response is the answer without a request`() async throws {
        try await FetchHarness.with("GET /a : answer 200 header \"Cache-Control: max-age=60\" body \"x\"") { harness in
            _ = try await harness.fetch("/a")
            let second = try await harness.fetch("/a")
            #expect(second.result?["source"]?.string == "stored" && second.result?["stale"]?.bool == false, "\(second)")
            #expect(second.result?["freshFor"]?.integer ?? 0 > 50)
            if case .stored = try harness.look("/a") {} else { Issue.record("a request is needed") }
            #expect(harness.server.requests.count == 1)
            let reloaded = try await harness.fetch("/a", [.init("mode", "reload")])
            #expect(reloaded.result?["source"]?.string == "network", "\(reloaded)")
        }
    }

    @Test func `an answer of JSON is a value of the result too, also from the store`() async throws {
        let script = #"""
            GET /a : answer 200 header "Content-Type: application/json" header "Cache-Control: max-age=60" body "{\"id\":7}"
            GET /b : answer 200 header "Content-Type: text/plain" body "{}"
            """#
        try await FetchHarness.with(script) { harness in
            for source in ["network", "stored"] {
                let outcome = try await harness.fetch("/a")
                #expect(outcome.result?["source"]?.string == source, "\(outcome)")
                #expect(outcome.result?["json"] == ["id": 7], "\(outcome)")
            }
            let text = try await harness.fetch("/b")
            #expect(text.result?["body"]?.string == "{}" && text.result?["json"] == nil, "\(text)")
        }
    }

    @Test func `a POST to its URL makes a response stale`() async throws {
        let script = """
            GET /a #1 : answer 200 header "Cache-Control: max-age=60" body "old"
            GET /a : answer 200 header "Cache-Control: max-age=60" body "new"
            POST /b : read; answer 201 header "Location: /a"
            POST /refused : read; answer 400
            """
        try await FetchHarness.with(script) { harness in
            _ = try await harness.fetch("/a")
            _ = try await harness.post("/refused")
            if case .stored = try harness.look("/a") {} else { Issue.record("a refusal has made it stale") }
            _ = try await harness.post("/b")
            if case .ask(nil, _) = try harness.look("/a") {} else { Issue.record("the changed response is shown") }
            let fresh = try await harness.fetch("/a")
            #expect(fresh.result?["body"]?.string == "new", "\(fresh)")
        }
    }

    @Test func `a large body is a file that the result names`() async throws {
        try await FetchHarness.with("GET /a : answer 200 header \"ETag: \\\"1\\\"\" body 300k") { harness in
            let outcome = try await harness.fetch("/a")
            let path = try #require(outcome.result?["bodyFile"]?.string, "\(outcome)")
            #expect(contents(of: path) == [UInt8](repeating: UInt8(ascii: "x"), count: 300 << 10))
            #expect(try harness.look("/a").shown?.bodyFile == path)
            unlink(path)
            if case .ask(nil, _) = try harness.look("/a") {} else { Issue.record("a lost body is shown") }
        }
    }

    @Test func `an error leaves the stored response, and permits it where its origin says so`() async throws {
        let script = """
            GET /a #1 : answer 200 header "Cache-Control: max-age=0, stale-if-error=60" body "old"
            GET /b #1 : answer 200 header "Cache-Control: max-age=0" header "ETag: \\"1\\"" body "old"
            GET * : answer 503
            """
        try await FetchHarness.with(script) { harness in
            for path in ["/a", "/b"] { _ = try await harness.fetch(path) }
            let permitted = try await harness.fetch("/a")
            #expect(permitted.result?["source"]?.string == "stored", "\(permitted)")
            #expect(permitted.result?["staleBecause"]?.string == "stale-if-error")
            let refused = try await harness.fetch("/b")
            // The destination has answered other requests, so the 503 is not its link's.
            #expect(refused.failure?.fault == .command, "\(refused)")
            #expect(try harness.look("/b").shown?.result["body"]?.string == "old")
        }
    }

    @Test func `a 404 takes the place of the stored response, and fails`() async throws {
        let script = """
            GET /a #1 : answer 200 header "ETag: \\"1\\"" body "old"
            GET /a : answer 404 body "gone"
            """
        try await FetchHarness.with(script) { harness in
            _ = try await harness.fetch("/a")
            let gone = try await harness.fetch("/a")
            #expect(gone.failure?.fault == .final, "\(gone)")
            // The stored error is never an answer.
            if case .ask(nil, nil) = try harness.look("/a") {} else { Issue.record("the stored error is shown") }
        }
    }

    @Test(arguments: ["close", "reset"]) func `a body that is cut off is not stored`(_ end: String) async throws {
        let script = """
            GET /a #1 : answer 200 header "ETag: \\"1\\"" body "old"
            GET /a : answer 200 body "new" length 100; \(end)
            """
        try await FetchHarness.with(script) { harness in
            _ = try await harness.fetch("/a")
            let cut = try await harness.fetch("/a")
            // Its origin cannot be reached, so the stored response is an answer, though a stale one.
            #expect(cut.result?["staleBecause"]?.string == "disconnected", "\(cut)")
            #expect(try harness.look("/a").shown?.result["body"]?.string == "old")
        }
    }

    @Test func `a destination that refuses connections is a failure of its link`() async throws {
        try await FetchHarness.with("GET /a : answer 200 header \"ETag: \\\"1\\\"\" body \"old\"") { harness in
            _ = try await harness.fetch("/a")
            let payload = harness.payload("/a")
            await harness.server.stop()
            let outcome = try await harness.fetch(payload)
            #expect(outcome.failure?.fault == .link, "\(outcome)")
            #expect(try harness.look("/a").shown?.result["body"]?.string == "old")
            let stored = try await harness.fetch("/a", [.init("mode", "stored")])
            #expect(stored.result?["body"]?.string == "old", "\(stored)")
        }
    }

    @Test func `users with different secrets have different responses`() async throws {
        let script = """
            GET /a with Authorization "Bearer one" : answer 200 header "Cache-Control: max-age=60" body "one"
            GET /a : answer 200 header "Cache-Control: max-age=60" body "two"
            """
        try await FetchHarness.with(script) { harness in
            _ = try await harness.fetch("/a", Self.headers)
            let other = try await harness.fetch("/a", [.init("headers", ["Authorization": "Bearer two"])])
            #expect(other.result?["body"]?.string == "two", "\(other)")
            #expect(try harness.look("/a", Self.headers).shown?.result["body"]?.string == "one")
            if case .ask(nil, _) = try harness.look("/a") {
            } else {
                Issue.record("a response of a user is shown to all")
            }
            // No secret is in the index.
            let index = contents(of: "\(harness.directory.path)/cache/index.sqlite-wal") ?? []
            #expect(!String(decoding: index, as: UTF8.self).contains("Bearer"))
        }
    }

    @Test func `a response with no-store leaves neither headers nor body`() async throws {
        try await FetchHarness.with("GET /a : answer 200 header \"Cache-Control: no-store\" body \"secret\"") {
            harness in
            let result = try #require(try await harness.fetch("/a").result)
            #expect(result.members?.map(\.name) == ["source", "status", "bodyFile", "bodyOnce"], "\(result)")
            if case .ask(nil, _) = try harness.look("/a") {} else { Issue.record("it was stored") }
            // The body is used once.
            #expect(try StoredFetch.body(of: result) == Array("secret".utf8))
            #expect(throws: SystemError.self) { try StoredFetch.body(of: result) }
        }
    }

    @Test(arguments: [200, 300 << 10]) func `a body that may not be stored arrives whole`(size: Int) async throws {
        try await FetchHarness.with("GET /a : answer 200 header \"Cache-Control: no-store\" body \(size)") { harness in
            let result = try #require(try await harness.fetch("/a").result)
            #expect(try StoredFetch.body(of: result).count == size && result["bodyTruncated"] == nil)
        }
    }

    @Test func `a stored error is a failure, as it was when it arrived`() async throws {
        try await FetchHarness.with("GET /a : answer 404 header \"Cache-Control: max-age=60\" body \"gone\"") {
            harness in
            let first = try await harness.fetch("/a")
            #expect(first.failure?.fault == .final, "\(first)")
            guard case .refused(let sentence) = try harness.look("/a") else {
                Issue.record("the error page is an answer")
                return
            }
            #expect(sentence.contains("404"))
            let second = try await harness.fetch("/a")
            #expect(second.failure?.reason.contains("404") == true, "\(second)")
            #expect(harness.server.requests.count == 1)
        }
    }

    @Test func `a stored error that a 304 confirms is a failure`() async throws {
        let script = """
            GET /a with if-none-match : answer 304 header "ETag: \\"1\\""
            GET /a : answer 404 header "Cache-Control: max-age=0" header "ETag: \\"1\\"" body "gone"
            """
        try await FetchHarness.with(script) { harness in
            for _ in 1...2 {
                let outcome = try await harness.fetch("/a")
                #expect(outcome.failure?.fault == .final, "\(outcome)")
            }
            #expect(harness.server.requests.last?["if-none-match"] != nil)
        }
    }

    @Test func `a redirect is followed, and each response has its own key`() async throws {
        let script = """
            GET /a : answer 301 header "Location: /b"
            GET /b : answer 200 header "Cache-Control: max-age=60" body "end"
            GET /loop : answer 302 header "Location: /loop"
            """
        try await FetchHarness.with(script) { harness in
            let outcome = try await harness.fetch("/a")
            #expect(outcome.result?["body"]?.string == "end", "\(outcome)")
            #expect(outcome.result?["url"]?.string == "\(harness.server.origin)/b")
            #expect(try harness.look("/b").shown?.result["body"]?.string == "end")
            #expect(try harness.look("/a").shown?.result["body"]?.string == "end")
            let loop = try await harness.fetch("/loop")
            #expect(loop.failure?.fault == .final, "\(loop)")
        }
    }

    @Test func `a redirect that must not be stored is followed`() async throws {
        let script = """
            GET /a : answer 302 header "Location: /b" header "Cache-Control: no-store"
            GET /b : answer 200 body "end"
            """
        try await FetchHarness.with(script) { harness in
            let outcome = try await harness.fetch("/a")
            #expect(outcome.result?["body"]?.string == "end", "\(outcome)")
        }
    }

    @Test func `a long error page is not a cut connection`() async throws {
        let script = """
            GET /a #1 : answer 200 header "ETag: \\"1\\"" body "old"
            GET /a : answer 404 body 100k
            GET /b #1 : answer 200 header "ETag: \\"1\\"" body "old"
            GET /b : answer 500 body 2M
            """
        try await FetchHarness.with(script) { harness in
            for path in ["/a", "/b"] { _ = try await harness.fetch(path) }
            let gone = try await harness.fetch("/a")
            #expect(gone.failure?.fault == .final, "\(gone)")
            if case .ask(nil, nil) = try harness.look("/a") {} else { Issue.record("the page is gone") }
            let failed = try await harness.fetch("/b")
            #expect(failed.failure?.fault == .command, "\(failed)")
        }
    }

    @Test func `a body beyond the limit is final`() async throws {
        try await FetchHarness.with("GET /a : answer 200 body 100k") { harness in
            let outcome = try await harness.fetch("/a", [.init("maxBody", 99_999)])
            #expect(
                outcome.failure?.fault == .final && outcome.failure?.reason.contains("maxBody") == true, "\(outcome)")
        }
    }

    @Test(arguments: [
        ("{}", "“url” is missing"), (#"{"url":"file:///a","headers":{"X-Tag":"a"}}"#, "not valid for a file: URL"),
        (#"{"url":"http://h/","mode":"x"}"#, "“mode”"),
        (#"{"url":"http://h/","maxStale":-1}"#, "“maxStale”"), (#"{"url":"http://h/","partition":""}"#, "“partition”"),
        (#"{"url":"http://h/","headers":{"Range":"bytes=0-"}}"#, "cannot be set"),
        (#"{"url":"http://h/","x":1}"#, "“x”"),
    ])
    func `an invalid payload is refused with its reason`(_ text: String, _ words: String) throws {
        let error = #expect(throws: (any Error).self) { try FetchPayload(try JSONValue(parsing: text.utf8)) }
        #expect("\(String(describing: error))".contains(words))
    }

    @Test func `a fetch stores a file, and asks whether it has changed`() async throws {
        let directory = try TemporaryDirectory("file")
        defer { directory.remove() }
        let file = try directory.file("a.json", Array("[1]".utf8))
        let operation = FetchOperation(
            transport: HTTPTransport(configuration: HTTPConfiguration()), credentials: CredentialStore(),
            evidence: DestinationEvidence(),
            store: ResponseStoreAccess(directory: "\(directory.path)/cache", maxBytes: 1 << 20))
        let payload: JSONValue = ["url": .string("file://\(file)"), "mode": "reload"]
        let first = try await OperationOutcome.of(payload, by: operation)
        #expect(first.result?["source"]?.string == "network" && first.result?["body"]?.string == "[1]", "\(first)")
        #expect(try await OperationOutcome.of(payload, by: operation).result?["source"]?.string == "notModified")
        try Data("[1, 2]".utf8).write(to: URL(fileURLWithPath: file))
        let changed = try await OperationOutcome.of(payload, by: operation)
        #expect(
            changed.result?["source"]?.string == "network" && changed.result?["body"]?.string == "[1, 2]", "\(changed)")
    }
}
