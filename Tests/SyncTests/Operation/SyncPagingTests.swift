import Commands
import Foundation
import TestSupport
import Testing

@testable import Sync

/// Lists of several pages, and reading only what has changed.
@Suite struct SyncPagingTests {
    private static let cursor =
        "\"items\":\"/d\",\"pages\":{\"by\":\"cursor\",\"cursor\":\"/next\",\"parameter\":\"after\"}"

    /// Pages of 10, up to `pages`.
    private static func page(_ request: ListOrigin.Request, of pages: Int) -> Behaviour {
        let number = Int(request.query["after"] ?? "0") ?? 0
        let next = number + 1 < pages ? "\"\(number + 1)\"" : "null"
        return .json("{\"d\":\(list(number * 10..<number * 10 + 10)),\"next\":\(next)}")
    }

    @Test(arguments: [
        ("\"pages\":{\"by\":\"link\"}", 25), ("\"pages\":{\"by\":\"page\",\"total\":\"/n\"},\"items\":\"/d\"", 25),
        ("\"pages\":{\"by\":\"offset\",\"sizeParameter\":\"limit\",\"size\":10},\"items\":\"/d\"", 25),
        ("\"pages\":{\"by\":\"link\",\"cursor\":\"/url\"},\"items\":\"/d\"", 25), (cursor, 25),
    ])
    func `every kind of paging reads the whole list`(_ members: String, _ count: Int) async throws {
        try await SyncHarness.with { request in
            let query = request.query
            let number =
                Int(query["page"] ?? query["after"] ?? query["p"] ?? "") ?? (Int(query["offset"] ?? "") ?? 0) / 10
            let start = query["page"] != nil ? (number - 1) * 10 : number * 10
            let records = list(min(start, count)..<min(start + 10, count))
            guard start + 10 < count else {
                return .json(
                    members.contains("/d") ? "{\"d\":\(start >= count ? "[]" : records),\"n\":\(count)}" : records)
            }
            if members.contains("/d") {
                return .json("{\"d\":\(records),\"n\":\(count),\"next\":\(number + 1),\"url\":\"?p=\(number + 1)\"}")
            }
            return .json(
                records, headers: ["Link": "<https://x/a,b;c>; rel=first, </list?p=\(number + 1)>; rel=\"last next\","])
        } _: { harness in
            let outcome = try await harness.sync(members)
            #expect(outcome.result?["inserted"]?.integer == Int64(count), "\(outcome)")
            #expect(try harness.keys().count == count)
        }
    }

    @Test func `a page without records and with a next one is not the end`() async throws {
        try await SyncHarness.with { request in
            switch request.query["after"] {
            case nil: .json("{\"d\":[],\"next\":1}")
            case "1": .json("{\"d\":[{\"id\":1}],\"next\":\"\"}")
            default: .answer(500)
            }
        } _: { harness in
            let outcome = try await harness.sync(Self.cursor)
            #expect(outcome.result?.numbers("pages", "inserted") == [2, 1], "\(outcome)")
        }
    }

    @Test(arguments: [
        (
            "a page that names itself", "{\"d\":[{\"id\":1}],\"next\":\"a\"}", "{\"d\":[{\"id\":2}],\"next\":\"a\"}",
            CommandFailure.Fault.command
        ),
        ("a next page that is an object", "{\"d\":[{\"id\":1}],\"next\":{\"a\":1}}", "", .command),
    ])
    func `pages that cannot be followed are a failure and not the end`(
        _ name: String, _ first: String, _ second: String, _ fault: CommandFailure.Fault
    ) async throws {
        try await SyncHarness.with { request in
            .json(request.query["after"] == "a" ? second : first)
        } _: { harness in
            let outcome = try await harness.sync(Self.cursor)
            #expect(outcome.failure?.fault == fault, "\(name): \(outcome)")
            #expect(try harness.keys().isEmpty)
        }
    }

    @Test func `a next page at another origin is final, and a malformed Link is a failure`() async throws {
        try await SyncHarness.with { request in
            request.number == 1
                ? .json(list([1]), headers: ["Link": "<https://other.example.com/2>; rel=next"])
                : .json(list([1]), headers: ["Link": "</list?page=2; rel=next"])
        } _: { harness in
            let other = try await harness.sync("\"pages\":{\"by\":\"link\"}")
            #expect(
                other.failure?.fault == .final && other.failure?.reason.contains("another origin") == true, "\(other)")
            let malformed = try await harness.sync("\"pages\":{\"by\":\"link\"}")
            #expect(malformed.failure?.fault == .command, "\(malformed)")
            #expect(try harness.keys().isEmpty)
        }
    }

    @Test func `a 404 behind the first page is the end only where the total agrees`() async throws {
        let members =
            "\"items\":\"/d\",\"pages\":{\"by\":\"page\",\"total\":\"/n\",\"sizeParameter\":\"per\",\"size\":2}"
        try await SyncHarness.with { request in
            request.query["page"] == "1" ? .json("{\"d\":\(list(1...2)),\"n\":2}") : .answer(404)
        } _: { harness in
            let agreed = try await harness.sync(members)
            #expect(agreed.result?["inserted"]?.integer == 2, "\(agreed)")
            harness.origin.set { request in
                request.query["page"] == "1" ? .json("{\"d\":\(list(1...2)),\"n\":3}") : .answer(404)
            }
            let differing = try await harness.sync(members)
            #expect(differing.failure?.fault == .final, "\(differing)")
        }
    }

    // MARK: Going on

    @Test func `a 429 at a page is charged, and the next execution goes on at that page`() async throws {
        try await SyncHarness.with { request in
            request.number == 3 ? .answer(429, headers: ["Retry-After": "7"]) : Self.page(request, of: 5)
        } _: { harness in
            let id = CommandID()
            let first = try await harness.sync(Self.cursor, id: id)
            #expect(first.failure?.fault == .command && first.failure?.retryAfter == .seconds(7), "\(first)")
            #expect(first.failure?.isPushback == true)
            #expect(try harness.keys().isEmpty)
            #expect(try harness.probe().number("SELECT count(*) FROM stage") == 20)
            let second = try await harness.sync(Self.cursor, id: id)
            #expect(second.result?.numbers("records", "inserted", "pages", "rev") == [50, 50, 5, 1], "\(second)")
            #expect(
                harness.server.requests.map { $0.target.split(separator: "=").last ?? "" }.suffix(3) == ["2", "3", "4"])
        }
    }

    @Test func `a body that is cut off leaves nothing of its page`() async throws {
        try await SyncHarness.with { request in
            guard request.number == 2 else { return Self.page(request, of: 3) }
            let start = "{\"d\":[{\"id\":10},{\"id\":11}"
            return
                (try? Behaviour("read; answer 200 length 4000 body \"\(start.replacing("\"", with: "\\\""))\"; close"))
                ?? .answer(500)
        } _: { harness in
            let id = CommandID()
            let first = try await harness.sync(Self.cursor, id: id)
            #expect(first.failure?.fault == .reset, "\(first)")
            #expect(first.failure?.ambiguous == false)
            // Two executions that end there are told from two that get further.
            let end = try #require(first.failure?.bodyEnd)
            #expect(end.offset > 0 && end.length.map { $0 > 4000 } == true, "\(end)")
            #expect(try harness.probe().number("SELECT count(*) FROM stage") == 10)
            let second = try await harness.sync(Self.cursor, id: id)
            #expect(second.result?.numbers("records", "inserted", "pages") == [30, 30, 3], "\(second)")
        }
    }

    @Test func `an expired cursor begins the list again`() async throws {
        try await SyncHarness.with { request in
            switch request.number {
            case 2: .answer(503)
            case 3: .answer(410, body: "cursor expired")
            default: Self.page(request, of: 3)
            }
        } _: { harness in
            let id = CommandID()
            let first = try await harness.sync(Self.cursor, id: id)
            #expect(first.failure != nil, "\(first)")
            let second = try await harness.sync(Self.cursor, id: id)
            #expect(second.result?.numbers("records", "pages", "restarted") == [30, 3, 1], "\(second)")
        }
    }

    @Test func `another command, and a local write, do not go on with staged pages`() async throws {
        try await SyncHarness.with { request in
            [2, 4].contains(request.number) ? .answer(500) : Self.page(request, of: 2)
        } _: { harness in
            let id = CommandID()
            _ = try await harness.sync(Self.cursor, id: id)
            // Request 3 is the first page again.
            _ = try await harness.sync(Self.cursor, id: CommandID())
            #expect(harness.server.requests[2].target == "/list")
            let written = try CollectionWriter(harness.collections, SyncHarness.name)
                .put(lines: Array("{\"id\":3}".utf8), key: ["/id"])
            #expect(written.rev == 1)
            #expect(try harness.probe().number("SELECT count(*) FROM stage") == 0)
            let last = try await harness.sync(Self.cursor, id: id)
            #expect(last.result?.numbers("records", "inserted", "updated", "unchanged") == [20, 19, 0, 1], "\(last)")
        }
    }

    @Test func `the last execution of a command leaves no staged pages`() async throws {
        try await SyncHarness.with { request in
            request.number == 2 ? .answer(500) : Self.page(request, of: 3)
        } _: { harness in
            let outcome = try await harness.sync(Self.cursor, retries: 5)
            #expect(outcome.failure?.fault == .command, "\(outcome)")
            #expect(try harness.probe().number("SELECT count(*) FROM stage") == 0)
        }
    }

    // MARK: Since

    @Test func `a token is stored with the rows, sent the next time, and dropped where it is refused`() async throws {
        let members = "\"items\":\"/d\",\"since\":{\"parameter\":\"since\",\"from\":\"token:/t\"},\"mode\":\"replace\""
        try await SyncHarness.with { request in
            switch request.query["since"] {
            case nil: .json("{\"d\":\(list(1...30)),\"t\":\"t\(request.number)\"}")
            case "t1": .json("{\"d\":[{\"id\":31}],\"t\":\"old\"}")
            default: .answer(410)
            }
        } _: { harness in
            let first = try await harness.sync(members)
            #expect(first.result?["token"]?.string == "t1" && first.result?["full"]?.bool == true, "\(first)")
            let delta = try await harness.sync(members)
            #expect(delta.result?.numbers("inserted", "deleted") == [1, 0], "\(delta)")
            #expect(delta.result?["full"]?.bool == false)
            #expect(try harness.keys().count == 31)
            let full = try await harness.sync(members)
            #expect(full.result?.numbers("restarted", "deleted") == [1, 1], "\(full)")
            #expect(full.result?["full"]?.bool == true && full.result?["token"]?.string == "t4")
            // Another URL is another list: its token is not that of this one.
            let other = try await harness.sync(members, path: "/other")
            #expect(other.result?["full"]?.bool == true, "\(other)")
        }
    }

    @Test func `since a date asks by the clock of the server, with an overlap`() async throws {
        let members = "\"since\":{\"parameter\":\"since\",\"from\":\"date\"}"
        try await SyncHarness.with { _ in
            .json(list([1]), headers: ["Date": "Thu, 01 Jan 2026 00:10:00 GMT"])
        } _: { harness in
            _ = try await harness.sync(members)
            _ = try await harness.sync(members)
            #expect(harness.server.requests.last?.target == "/list?since=2026-01-01T00%3A09%3A00Z")
        }
    }

    @Test func `since a version asks for the greatest one again`() async throws {
        let members = "\"version\":\"/v\",\"since\":{\"parameter\":\"min\",\"from\":\"version\"}"
        try await SyncHarness.with { _ in
            .json("[{\"id\":1,\"v\":7},{\"id\":2,\"v\":3}]")
        } _: { harness in
            _ = try await harness.sync(members)
            let second = try await harness.sync(members)
            #expect(second.result?["full"]?.bool == false, "\(second)")
            #expect(harness.server.requests.last?.target == "/list?min=7")
        }
    }
}
