import Commands
import TestSupport
import Testing

/// The remark of a fetch whose answer is one page of a longer list.
@Suite struct PageRemarkTests {
    private static let fresh = ["Cache-Control": "max-age=60"]

    private func remarks(_ answer: Behaviour, times: Int = 1) async throws -> [String?] {
        var remarks: [String?] = []
        try await FetchHarness.with(answer) { harness in
            for _ in 0..<times {
                let outcome = try await harness.fetch("/list")
                remarks.append(try #require(outcome.result, "\(outcome)")["remark"]?.string)
            }
        }
        return remarks
    }

    @Test(arguments: [
        ("{\"results\":\(list(1...10)),\"next\":\"http://h/?page=2\"}", "--pages link --cursor /next"),
        ("{\"data\":\(list(1...10)),\"next_cursor\":\"abc\"}", "--cursor /next_cursor"),
        ("{\"items\":\(list(1...10)),\"nextPageToken\":\"t\"}", "--cursor /nextPageToken"),
        ("{\"value\":\(list(1...10)),\"@odata.nextLink\":\"https://h/2\"}", "--cursor /@odata.nextLink"),
        ("{\"has_more\":true,\"data\":\(list(1...10))}", "--more /has_more"),
        ("{\"data\":{\"a/b\":\(list(1...10)),\"total\":870},\"count\":1}", "“/data/total” is 870"),
        ("{\"meta\":{\"totalPages\":9},\"users\":\(list(1...10))}", "“/meta/totalPages” is 9"),
    ])
    func `a body that leads on to another page is remarked, with the option that reads it`(
        _ body: String, _ words: String
    ) async throws {
        // From the network, then from the store.
        for remark in try await remarks(.json(body, headers: Self.fresh), times: 2) {
            #expect(remark?.contains("“sluice sync”") == true && remark?.contains(words) == true, "\(remark ?? "none")")
        }
    }

    @Test(arguments: [
        (["Link": "</list?page=2>; rel=\"next\""], "--pages link"), (["X-Total-Count": "870"], "X-Total-Count: 870"),
        (["X-Next-Page": "2"], "X-Next-Page"),
    ])
    func `fields that lead on to another page are remarked`(_ headers: [String: String], _ words: String) async throws {
        let remark = try await remarks(.json(list(1...10), headers: headers))[0]
        #expect(remark?.contains(words) == true, "\(remark ?? "none")")
    }

    @Test func `a long page is remarked, from a file too`() async throws {
        let rows = list(1...2000, "\"name\":\"\(String(repeating: "x", count: 60))\"")
        for remark in try await remarks(.json("{\"rows\":\(rows),\"total\":9000}", headers: Self.fresh), times: 2) {
            #expect(remark?.contains("“/total” is 9000") == true, "\(remark ?? "none")")
        }
    }

    @Test func `the remark on a response that must not be stored has nothing of it`() async throws {
        let body = "{\"rows\":\(list(1...10)),\"total\":9000}"
        let remark = try await remarks(.json(body, headers: ["Cache-Control": "no-store"]))[0]
        #expect(remark?.contains("“sluice sync”") == true && remark?.contains("total") == false, "\(remark ?? "none")")
    }

    @Test(arguments: [
        list(1...10), "{\"results\":\(list(1...10)),\"next\":null,\"count\":10,\"has_more\":false}",
        "{\"id\":1,\"next\":\"/2\",\"count\":7,\"tags\":[\"a\"]}", "{\"next\":\"/2\"}", "7", "no JSON",
    ])
    func `a whole list, and a single object, has no remark`(_ body: String) async throws {
        #expect(try await remarks(.json(body, headers: ["X-Total-Count": "10", "X-Next-Page": ""])) == [nil])
    }
}
