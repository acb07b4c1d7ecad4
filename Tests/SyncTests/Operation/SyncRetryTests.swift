import Commands
import TestSupport
import Testing

/// A command that a person begins again after its end.
@Suite struct SyncRetryTests {
    @Test func `a retry by a person reads the list again although the command was merged`() async throws {
        try await SyncHarness.with { _ in
            .json(list(1...3))
        } _: { harness in
            let id = CommandID()
            #expect(try await harness.sync(id: id).result?.numbers("rev", "inserted") == [1, 3])
            harness.origin.set { _ in .json(list(1...4)) }
            let died = try await harness.sync(id: id)
            #expect(died.result?.numbers("rev", "inserted") == [1, 3], "\(died)")
            #expect(harness.server.requests.count == 1)
            let retried = try await harness.sync(id: id, isRenewed: true)
            #expect(retried.result?.numbers("rev", "inserted", "unchanged") == [2, 1, 3], "\(retried)")
            harness.origin.set { _ in .json(list(1...5)) }
            let diedAgain = try await harness.sync(id: id)
            #expect(diedAgain.result?.numbers("rev", "inserted") == [2, 1], "\(diedAgain)")
        }
    }

    @Test func `a retry by a person that fails does not leave the old result to the execution behind it`()
        async throws
    {
        try await SyncHarness.with { _ in
            .json(list(1...3))
        } _: { harness in
            let id = CommandID()
            _ = try await harness.sync(id: id)
            harness.origin.set { _ in .answer(503) }
            #expect(try await harness.sync(id: id, isRenewed: true).failure != nil)
            #expect(try harness.keys().count == 3)
            harness.origin.set { _ in .json(list(1...4)) }
            let later = try await harness.sync(id: id)
            #expect(later.result?.numbers("rev", "inserted") == [2, 1], "\(later)")
        }
    }

    @Test func `a retry by a person begins at the first page, and a retry by itself goes on`() async throws {
        let cursor =
            "\"items\":\"/d\",\"pages\":{\"by\":\"cursor\",\"cursor\":\"/next\",\"parameter\":\"after\"}"
        @Sendable func page(_ request: ListOrigin.Request) -> Behaviour {
            switch request.query["after"] {
            case nil: .json("{\"d\":\(list(1...2)),\"next\":\"2\"}")
            case "2": .json("{\"d\":\(list(3...4)),\"next\":\"3\"}")
            default: .json("{\"d\":\(list(5...6)),\"next\":null}")
            }
        }
        try await SyncHarness.with { request in
            request.query["after"] == "3" ? .answer(500) : page(request)
        } _: { harness in
            let id = CommandID()
            #expect(try await harness.sync(cursor, id: id).failure != nil)
            #expect(try await harness.sync(cursor, id: id).failure != nil)
            #expect(harness.server.requests.count == 4)
            harness.origin.set { page($0) }
            let retried = try await harness.sync(cursor, id: id, isRenewed: true)
            #expect(retried.result?.numbers("pages", "inserted", "duplicates") == [3, 6, 0], "\(retried)")
            #expect(harness.server.requests.count == 7)
        }
    }

    @Test func `a sync waits for its list`() async throws {
        try await SyncHarness.with { request in
            request.number == 1 ? .answer(202, headers: ["Retry-After": "7"], body: "later") : .json(list(1...3))
        } _: { harness in
            let failure = try #require(try await harness.sync().failure)
            #expect(failure.isPending && failure.retryAfter == .seconds(7), "\(failure)")
            #expect(try await harness.sync().result?["inserted"]?.integer == 3)
        }
    }
}
