import Commands
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Sync

/// Lists that are not whole, or not known to be: nothing that they lack is deleted.
@Suite struct SyncWholenessTests {
    private static let replace = "\"mode\":\"replace\",\"maxDelete\":\"100%\""

    @Test func `the last page of a partial list counts once, also after a merge that failed`() async throws {
        let cursor =
            "\(Self.replace),\"items\":\"/d\",\"pages\":{\"by\":\"cursor\",\"cursor\":\"/next\","
            + "\"parameter\":\"after\",\"total\":\"/n\"}"
        @Sendable func page(_ request: ListOrigin.Request, through last: Int) -> Behaviour {
            request.query["after"] == nil
                ? .json("{\"d\":\(list(1...20)),\"n\":30,\"next\":\"2\"}")
                : .json("{\"d\":\(list(21...last)),\"n\":30,\"next\":null}")
        }
        try await SyncHarness.with { request in
            page(request, through: 30)
        } _: { harness in
            #expect(try await harness.sync(cursor).result?["inserted"]?.integer == 30)
            harness.origin.set { request in
                // The last page has half of its records, and another program changes a row before the merge.
                if request.query["after"] != nil, request.number == 4 {
                    try? SQLiteProbe(harness.file).run("UPDATE record SET hash = x'00', body = '{}' WHERE key = 'n:2'")
                }
                return page(request, through: 25)
            }
            let id = CommandID()
            let first = try await harness.sync(cursor, id: id)
            #expect(first.failure?.fault == .command, "\(first)")
            #expect(try harness.probe().number("SELECT count(*) FROM stage") == 0)
            let second = try await harness.sync(cursor, id: id)
            #expect(second.result?.numbers("records", "pages", "deleted", "updated") == [25, 2, 0, 1], "\(second)")
            #expect(try harness.keys().count == 30)
        }
    }

    @Test func `pages that state different totals are told, also where a 404 ends them`() async throws {
        try await SyncHarness.with { request in
            switch request.query["page"] {
            case nil, "1": .json("{\"d\":\(list(1...10)),\"n\":30}")
            case "2": .json("{\"d\":\(list(11...20)),\"n\":20}")
            default: .answer(404)
            }
        } _: { harness in
            let outcome = try await harness.sync(
                "\"items\":\"/d\",\"pages\":{\"by\":\"page\",\"total\":\"/n\"}")
            #expect(outcome.result?["partial"]?.string?.contains("different totals") == true, "\(outcome)")
            #expect(outcome.result?.numbers("records") == [20])
        }
    }

    @Test func `after ten pages a sync requests at most 50 a second`() async throws {
        try await SyncHarness.with { request in
            let page = request.query["page"].flatMap { Int($0) } ?? 1
            return .json(page > 110 ? "[]" : list(page...page))
        } _: { harness in
            let start = ContinuousClock.now
            let outcome = try await harness.sync("\"pages\":{\"by\":\"page\"}")
            #expect(outcome.result?.numbers("records") == [110], "\(outcome)")
            // A busy machine only takes longer.
            #expect(ContinuousClock.now - start >= .seconds(2))
        }
    }

    @Test func `a list that grows by a second page behind a Link is read although its first page is the same`()
        async throws
    {
        try await SyncHarness.with { request in
            request.headers["if-none-match"] == "\"1\""
                ? .answer(304, headers: ["ETag": "\"1\""]) : .json(list(1...10), headers: ["ETag": "\"1\""])
        } _: { harness in
            _ = try await harness.sync("\"pages\":{\"by\":\"link\"}")
            harness.origin.set { request in
                if request.query["p"] == "2" { return .json(list(11...12)) }
                let headers = ["ETag": "\"1\"", "Link": "</list?p=2>; rel=next"]
                return request.headers["if-none-match"] == "\"1\""
                    ? .answer(304, headers: headers) : .json(list(1...10), headers: headers)
            }
            let second = try await harness.sync("\"pages\":{\"by\":\"link\"}")
            #expect(second.result?.numbers("records", "inserted") == [12, 2], "\(second)")
        }
    }

    @Test func `a cursor that is renamed deletes nothing, and the remark names the new one`() async throws {
        let members =
            "\(Self.replace),\"items\":\"/d\",\"pages\":{\"by\":\"cursor\",\"cursor\":\"/next_cursor\",\"parameter\":\"after\"}"
        @Sendable func page(_ request: ListOrigin.Request, _ name: String) -> Behaviour {
            request.query["after"] == nil
                ? .json("{\"d\":\(list(1...100)),\"\(name)\":\"2\"}")
                : .json("{\"d\":\(list(101...150)),\"\(name)\":null}")
        }
        try await SyncHarness.with {
            page($0, "next_cursor")
        } _: { harness in
            #expect(try await harness.sync(members).result?["inserted"]?.integer == 150)
            harness.origin.set { page($0, "nextCursor") }
            let renamed = try await harness.sync(members)
            #expect(renamed.result?.numbers("records", "deleted") == [100, 0], "\(renamed)")
            #expect(renamed.result?["partial"]?.string?.contains("--cursor /nextCursor") == true, "\(renamed)")
            #expect(try harness.keys().count == 150)
        }
    }

    @Test(arguments: [
        "\"next\":\"http://h/?page=2\"", "\"count\":870", "\"has_more\":true", "\"meta\":{\"totalPages\":9}",
        "\"paging\":{\"next\":\"abc\"}", "\"pageInfo\":{\"hasNextPage\":true,\"endCursor\":\"x\"}",
        "\"NextToken\":\"t\"",
        "\"next_page\":2", "\"@odata.nextLink\":\"https://h/2\"", "\"links\":{\"next\":{\"href\":\"/2\"}}",
    ])
    func `an answer that looks like one of several pages is partial where no pages were given`(_ sign: String)
        async throws
    {
        try await SyncHarness.with { _ in
            .json("{\"results\":\(list(1...10)),\(sign)}")
        } _: { harness in
            let silent = try await harness.sync("\"items\":\"/results\"")
            #expect(silent.result?["partial"]?.string?.contains("--pages") == true, "\(silent)")
            let stated = try await harness.sync("\"items\":\"/results\",\"pages\":{\"by\":\"none\"}")
            #expect(stated.result?["partial"] == nil, "\(stated)")
        }
    }

    @Test(arguments: [
        ("X-Total-Count", "870"), ("X-Total", "11"), ("X-WP-Total", "870"), ("X-Next-Page", "2"),
        ("X-Total-Pages", "9"), ("Content-Range", "items 0-9/870"),
    ])
    func `an answer whose fields count more than it has is partial where no pages were given`(
        _ name: String, _ value: String
    ) async throws {
        try await SyncHarness.with { _ in
            .json(list(1...10), headers: [name: value])
        } _: { harness in
            let replace = "\"mode\":\"replace\",\"maxDelete\":\"100%\""
            let silent = try await harness.sync(replace)
            let partial = silent.result?["partial"]?.string
            #expect(partial?.contains(name) == true && partial?.contains("--pages") == true, "\(silent)")
            let stated = try await harness.sync("\(replace),\"pages\":{\"by\":\"none\"}")
            #expect(stated.result?["partial"] == nil, "\(stated)")
            harness.origin.set { _ in
                let fields = ["X-Total-Count": "10", "X-Next-Page": "", "Content-Range": "items 0-9/10"]
                return .json(list(1...10), headers: fields)
            }
            #expect(try await harness.sync(replace).result?["partial"] == nil)
        }
    }

    @Test(arguments: [
        "\"next\":null,\"count\":10", "\"has_more\":false",
        "\"meta\":{\"total\":10,\"next\":\"\"},\"count\":1,\"count\":2",
        "\"links\":{\"self\":\"/1\"},\"page\":1,\"total_pages\":1",
    ])
    func `an answer that says that it is the whole list is whole`(_ sign: String) async throws {
        try await SyncHarness.with { _ in
            .json("{\(sign),\"results\":\(list(1...10))}")
        } _: { harness in
            let outcome = try await harness.sync("\"items\":\"/results\"")
            #expect(outcome.result?["partial"] == nil && outcome.result?["inserted"]?.integer == 10, "\(outcome)")
        }
    }

    @Test func `pages without an end are not read without end`() async throws {
        try await SyncHarness.with { request in
            let number = Int(request.query["cursor"] ?? "") ?? 0
            return .json(
                number == 0 ? list(1...3) : "[]",
                headers: ["Link": "</list?cursor=\(number + 1)>; rel=\"next\""])
        } _: { harness in
            let outcome = try await harness.sync("\"pages\":{\"by\":\"link\"}")
            #expect(outcome.result?.numbers("inserted", "pages") == [3, 4], "\(outcome)")
            #expect(outcome.result?["partial"] != nil)
        }
    }

    @Test func `pages whose cursor is the last record end by their flag`() async throws {
        let pages =
            "\"items\":\"/d\",\"pages\":{\"by\":\"cursor\",\"lastRecord\":\"/id\",\"parameter\":\"starting_after\",\"more\":\"/has_more\"}"
        try await SyncHarness.with { request in
            let start = (Int(request.query["starting_after"] ?? "") ?? 0) + 1
            return .json("{\"d\":\(list(start..<start + 10)),\"has_more\":\(start < 21)}")
        } _: { harness in
            let outcome = try await harness.sync(pages)
            #expect(outcome.result?.numbers("inserted", "pages") == [30, 3], "\(outcome)")
            #expect(outcome.result?["partial"] == nil)
        }
    }

    @Test func `lines that end with their connection delete nothing`() async throws {
        let ndjson = "\"format\":\"ndjson\",\(Self.replace)"
        try await SyncHarness.with { _ in
            .answer(200, body: "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n")
        } _: { harness in
            #expect(try await harness.sync(ndjson).result?["inserted"]?.integer == 3)
            harness.origin.set { _ in
                (try? Behaviour("read; answer 200 length none body \"{\\\"id\\\":1}\\n\"; close")) ?? .answer(500)
            }
            let cut = try await harness.sync(ndjson)
            #expect(cut.failure == nil && cut.result?["deleted"]?.integer ?? 0 == 0, "\(cut)")
            #expect(try harness.keys().count == 3)
            harness.origin.set { _ in .answer(200, body: "{\"id\":1}\n") }
            let whole = try await harness.sync(ndjson)
            #expect(whole.result?["deleted"]?.integer == 2, "\(whole)")
        }
    }

    @Test func `a list whose total changes while it is read deletes nothing`() async throws {
        let members = "\(Self.replace),\"items\":\"/d\",\"pages\":{\"by\":\"page\",\"total\":\"/n\"}"
        try await SyncHarness.with { request in
            switch request.query["page"] {
            case "1": .json("{\"d\":\(list(1...10)),\"n\":20}")
            case "2": .json("{\"d\":\(list(11...20)),\"n\":20}")
            default: .json("{\"d\":[],\"n\":20}")
            }
        } _: { harness in
            #expect(try await harness.sync(members).result?["inserted"]?.integer == 20)
            harness.origin.set { request in
                // Record 1 is deleted after page 1, so record 11 moves to it.
                request.query["page"] == "1"
                    ? .json("{\"d\":\(list(1...10)),\"n\":20}") : .json("{\"d\":\(list(12...20)),\"n\":19}")
            }
            let moved = try await harness.sync(members)
            #expect(moved.result?["deleted"]?.integer == 0, "\(moved)")
            #expect(try harness.keys().contains("n:11"))
        }
    }

    @Test func `a list whose first page is another at the end of every read loses its dead rows, and no living one`()
        async throws
    {
        let members =
            "\(Self.replace),\"items\":\"/d\",\"pages\":{\"by\":\"cursor\",\"cursor\":\"/next\",\"parameter\":\"after\"}"
        @Sendable func page(_ request: ListOrigin.Request, but gone: Int?) -> Behaviour {
            // Each answer has a first record of its own.
            switch request.query["after"] {
            case nil: .json("{\"d\":\(list([1000 + request.number] + Array(1...9))),\"next\":\"2\"}")
            case "2": .json("{\"d\":\(list(10...19)),\"next\":\"3\"}")
            default: .json("{\"d\":\(list((20...29).filter { $0 != gone })),\"next\":null}")
            }
        }
        try await SyncHarness.with {
            page($0, but: nil)
        } _: { harness in
            #expect(try await harness.sync(members).result?["inserted"]?.integer == 30)
            harness.origin.set { page($0, but: 25) }
            let living = Set((1...29).map { "n:\($0)" }).subtracting(["n:25"])
            for read in 1...ReadProof.maxReads {
                let outcome = try await harness.sync(members)
                let keys = try harness.keys()
                #expect(living.isSubset(of: keys), "read \(read): \(outcome)")
                #expect(keys.contains("n:25") == (read < ReadProof.maxReads), "read \(read): \(outcome)")
                let isPartial = outcome.result?["partial"]?.string?.contains("first page") == true
                #expect(isPartial == (read < ReadProof.maxReads), "read \(read): \(outcome)")
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func `a FIFO is refused at once`() async throws {
        try await SyncHarness.with { _ in
            .answer(500)
        } _: { harness in
            let path = "\(harness.directory.path)/fifo"
            #expect(mkfifo(path, 0o600) == 0)
            let text = "{\"url\":\"file://\(path)\",\"collection\":\"\(SyncHarness.name)\"}"
            let payload = try JSONValue(parsing: text.utf8)
            let outcome = try await harness.outcome(of: try harness.execution(CommandID(), payload))
            #expect(outcome.failure?.reason.contains("not a regular file") == true, "\(outcome)")
        }
    }

    @Test func `a row that was removed here comes back with the next sync`() async throws {
        try await SyncHarness.with { request in
            request.headers["if-none-match"] == "\"1\""
                ? .answer(304, headers: ["ETag": "\"1\""]) : .json(list(1...3), headers: ["ETag": "\"1\""])
        } _: { harness in
            _ = try await harness.sync()
            _ = try CollectionWriter(harness.collections, SyncHarness.name).remove(["2"])
            #expect(try harness.keys() == ["n:1", "n:3"])
            let second = try await harness.sync()
            #expect(second.result?["inserted"]?.integer == 1, "\(second)")
        }
    }

    @Test func `a record without a version is refused where the others have numbers`() async throws {
        let newest = "\"merge\":\"newest\",\"version\":\"/v\""
        try await SyncHarness.with { _ in
            .json(list(1...2, "\"v\":7"))
        } _: { harness in
            _ = try await harness.sync(newest)
            let error = #expect(throws: CollectionError.self) { try harness.put("{\"id\":1}") }
            #expect("\(String(describing: error))".contains("line 1"))
            try harness.put("{\"id\":1,\"v\":8}")
            let second = try await harness.sync("\(newest),\"conditional\":false")
            #expect(second.failure == nil, "\(second)")
        }
    }
}
