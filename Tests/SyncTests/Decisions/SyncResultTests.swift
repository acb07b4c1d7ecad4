import Commands
import Testing

@testable import Sync

@Suite struct SyncResultTests {
    private func entry(_ index: Int, key: Bool = false) throws -> RejectLog.Entry {
        let text = key ? try RecordKey([Array("1".utf8)[...]]) : nil
        return .init(page: 2, index: index, key: text, reason: "the key at “/id” is missing")
    }

    @Test func `the result lists the first 100 rejects and counts all`() throws {
        var result = SyncResult(rev: 3, records: 500)
        for index in 0..<150 { result.rejects.add(try entry(index, key: index % 2 == 0)) }
        #expect(result.rejects.count == 150 && result.rejects.countWithoutKey == 75)
        let json = result.json
        #expect(
            json["rejected"] == 150 && json["rev"] == 3 && json["records"] == 500 && json["token"] == .null
                && json["retained"] == nil)
        #expect(json["rejects"]?.elements?.count == 100)
        #expect(
            json["rejects"]?.elements?.first == [
                "page": 2, "index": 0, "key": "n:1", "reason": "the key at “/id” is missing",
            ])
        #expect(json["rejects"]?.elements?[1]["key"] == .null)
        let keys = [
            "rev", "records", "inserted", "updated", "unchanged", "deleted", "rejected", "duplicates", "pages", "bytes",
            "notModified", "full", "token",
            "restarted", "rejects",
        ]
        #expect(json.members?.map(\.name) == keys)
    }

    @Test func `more rejects than maxRejects are final and name the flag`() throws {
        let payload = try SyncPayloadTests.payload([("maxRejects", 2)])
        var result = SyncResult()
        for index in 0..<2 { result.rejects.add(try entry(index)) }
        #expect(result.refusal(payload) == nil)
        result.rejects.add(try entry(2))
        let failure = try #require(result.refusal(payload))
        #expect(
            failure.fault == .final && failure.reason.contains("“maxRejects”")
                && failure.reason.contains("record 0 of page 2: the key at “/id” is missing"))
        var none = SyncResult()
        none.rejects.add(try entry(0))
        #expect(none.refusal(try SyncPayloadTests.payload([("maxRejects", 0)]))?.fault == .final)
    }

    @Test func `more bytes than maxBytes are final and name the flag`() throws {
        let payload = try SyncPayloadTests.payload([("maxBytes", 1000)])
        #expect(SyncResult(bytes: 1000).refusal(payload) == nil)
        let failure = try #require(SyncResult(bytes: 1001).refusal(payload))
        #expect(failure.fault == .final && failure.reason.contains("“maxBytes”"))
    }
}
