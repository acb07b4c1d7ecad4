import Commands
import Foundation
import HTTPClient
import TestSupport
import Testing

@testable import Fetch

@Suite struct StoppedFetchTests {
    @Test(arguments: ["hang", "answer 200 body 10k drip body 1 every 100ms"])
    func `a stopped fetch is not a success, although a stale response is permitted`(_ steps: String) async throws {
        let script = """
            GET /a #1 : answer 200 header "Cache-Control: max-age=0, stale-if-error=600" body "old"
            GET /a : \(steps)
            """
        try await FetchHarness.with(script) { harness in
            _ = try await harness.fetch("/a")
            let task = Task { try await harness.fetch("/a") }
            try await until("the second request") { harness.server.requests.count == 2 }
            task.cancel()
            let outcome = try await task.value
            #expect(outcome.result == nil && outcome.failure?.ambiguous == false, "\(outcome)")
            #expect(try harness.look("/a").shown?.result["body"]?.string == "old")
        }
    }

    @Test func `fetches join where they ask in the same way`() throws {
        func key(_ members: [JSONValue.Member] = []) throws -> String {
            let payload = JSONValue.object([.init("url", "http://h/a")] + members)
            return try StoredFetch.look(payload, CredentialStore(), in: nil).uniqueKey
        }
        let keys = [
            try key(), try key([.init("mode", "reload")]), try key([.init("mode", "network")]),
            try key([.init("maxStale", 60)]), try key([.init("maxBody", 1000)]),
            try key([.init("headers", ["Accept": "text/csv"])]),
        ]
        #expect(Set(keys).count == keys.count, "\(keys)")
        #expect(try key() == keys[0])
    }

    @Test func `a body that is gone is an error that names its file`() throws {
        let error = #expect(throws: (any Error).self) {
            try StoredFetch.body(of: ["bodyFile": "/nonexistent/body"])
        }
        #expect("\(String(describing: error))".contains("/nonexistent/body"))
    }
}
