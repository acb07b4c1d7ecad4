import Commands
import Foundation
import TestSupport
import Testing

/// Deleting and merging: section “Deleting, merging, paging” of the contract, row by row.
@Suite struct SyncMergeTests {
    private static let replace = "\"mode\":\"replace\""

    @Test func `a replacing sync deletes the rows that the list does not have`() async throws {
        try await SyncHarness.with { request in
            .json(list(request.number == 1 ? 1...20 : 5...20))
        } _: { harness in
            _ = try await harness.sync(Self.replace)
            let second = try await harness.sync(Self.replace)
            #expect(second.result?.numbers("rev", "deleted", "unchanged") == [2, 4, 16], "\(second)")
            #expect(try harness.probe().texts("SELECT op || key FROM change WHERE rev = 2").sorted().first == "dn:1")
        }
    }

    @Test func `an empty list, and one with too few records, are refused and nothing is written`() async throws {
        try await SyncHarness.with { _ in
            .json(list(1...40))
        } _: { harness in
            _ = try await harness.sync(Self.replace)
            for (body, words) in [("[]", "allowEmpty"), (list(1...10), "maxDelete")] {
                harness.origin.set { _ in .json(body) }
                let refused = try await harness.sync(Self.replace)
                #expect(refused.failure?.fault == .final && refused.failure?.isAnswer == true, "\(refused)")
                #expect(refused.failure?.reason.contains(words) == true, "\(refused)")
                #expect(try harness.keys().count == 40 && harness.rev() == 1)
                #expect(try harness.probe().number("SELECT count(*) FROM stage") == 0)
            }
            harness.origin.set { _ in .json(list(1...10)) }
            let more = try await harness.sync("\(Self.replace),\"maxDelete\":\"90%\"")
            #expect(more.result?["deleted"]?.integer == 30, "\(more)")
            harness.origin.set { _ in .json("[]") }
            let empty = try await harness.sync("\(Self.replace),\"allowEmpty\":true")
            #expect(empty.result?["deleted"]?.integer == 10, "\(empty)")
            #expect(try harness.keys().isEmpty)
        }
    }

    @Test func `a record without a known key keeps all rows`() async throws {
        try await SyncHarness.with { request in
            .json(request.number == 1 ? list(1...3) : "[{\"id\":1},{\"name\":\"?\"}]")
        } _: { harness in
            _ = try await harness.sync(Self.replace)
            let second = try await harness.sync(Self.replace)
            #expect(second.result?.numbers("deleted", "rejected") == [0, 1], "\(second)")
            #expect(second.result?["retained"]?.string?.contains("known key") == true)
        }
    }

    @Test func `a rejected record whose key is known keeps its row`() async throws {
        try await SyncHarness.with { request in
            .json(request.number == 1 ? list(1...3) : "[{\"id\":1},{\"id\":2,\"a\":1,\"a\":2}]")
        } _: { harness in
            _ = try await harness.sync(Self.replace)
            let second = try await harness.sync(Self.replace)
            #expect(second.result?.numbers("deleted", "rejected", "unchanged") == [1, 1, 1], "\(second)")
            #expect(try harness.keys() == ["n:1", "n:2"])
        }
    }

    @Test func `a list that moves between its pages is read once more, and then keeps its rows`() async throws {
        let pages = "\"pages\":{\"by\":\"page\"}"
        try await SyncHarness.with { _ in
            .json(list(1...4))
        } _: { harness in
            _ = try await harness.sync(Self.replace)
            // A record was inserted before page 2 was read: 2 comes twice, and 4 has moved to page 3.
            harness.origin.set { request in
                switch (request.query["page"], request.number < 5) {
                case ("1", true): .json(list([1, 2]))
                case ("2", true): .json(list([2, 3]))
                case ("1", false): .json(list([0, 1]))
                case ("2", false): .json(list([2, 3]))
                default: .json("[]")
                }
            }
            let second = try await harness.sync("\(Self.replace),\(pages)")
            #expect(second.result?.numbers("restarted", "deleted", "duplicates") == [1, 0, 0], "\(second)")
            #expect(try harness.keys() == ["n:0", "n:1", "n:2", "n:3", "n:4"])
            // The list has stood still since, so the row that both reads lack is gone.
            let next = try await harness.sync("\(Self.replace),\(pages)")
            #expect(next.result?.numbers("restarted", "deleted", "duplicates") == [0, 1, 0], "\(next)")
            #expect(try harness.keys() == ["n:0", "n:1", "n:2", "n:3"])
            harness.origin.set { request in
                request.query["page"] == "1"
                    ? .json(list([1, 2])) : .json(request.query["page"] == "2" ? list([2, 3]) : "[]")
            }
            let third = try await harness.sync("\(Self.replace),\(pages)")
            #expect(third.result?.numbers("restarted", "deleted", "duplicates") == [1, 0, 1], "\(third)")
            #expect(third.result?["retained"]?.string != nil)
        }
    }

    @Test(arguments: [
        ("remote", "{\"id\":1,\"v\":2}", Int64(0)), ("local", "{\"id\":1,\"v\":9}", 1),
        ("newest", "{\"id\":1,\"v\":9}", 1),
    ])
    func `a row that was changed here stays or not, as merge says`(
        _ merge: String, _ body: String, _ isLocal: Int64
    ) async throws {
        let members = "\"merge\":\"\(merge)\",\"version\":\"/v\""
        try await SyncHarness.with { request in
            .json("[{\"id\":1,\"v\":\(request.number)}]")
        } _: { harness in
            _ = try await harness.sync(members)
            try harness.put("{\"id\":1,\"v\":9}")
            let second = try await harness.sync(members)
            #expect(second.failure == nil, "\(second)")
            #expect(try harness.records()["n:1"] == body)
            let row = try harness.probe().text("SELECT local || ' ' || coalesce(remote, '-') FROM record")
            #expect(row == (isLocal == 1 ? "1 {\"id\":1,\"v\":2}" : "0 -"))
            // The remote has the local record now.
            harness.origin.set { _ in .json("[{\"id\":1,\"v\":9}]") }
            let third = try await harness.sync(members)
            #expect(
                try harness.probe().text("SELECT local || ' ' || coalesce(remote, '-') FROM record") == "0 -",
                "\(third)")
        }
    }

    @Test func `the newest of two versions stays, and versions that cannot be compared are refused`() async throws {
        let members = "\"merge\":\"newest\",\"version\":\"/v\""
        try await SyncHarness.with { request in
            .json("[{\"id\":1,\"v\":\(request.number * 10)}]")
        } _: { harness in
            _ = try await harness.sync(members)
            try harness.put("{\"id\":1,\"v\":15}")
            _ = try await harness.sync(members)
            #expect(try harness.records()["n:1"] == "{\"id\":1,\"v\":20}")
            try harness.put("{\"id\":1,\"v\":25}")
            harness.origin.set { _ in .json("[{\"id\":1,\"v\":\"2026-01-01T00:00:00Z\"}]") }
            let refused = try await harness.sync(members)
            #expect(
                refused.failure?.fault == .final && refused.failure?.reason.contains("compared") == true, "\(refused)")
            harness.origin.set { _ in .json("[{\"id\":1,\"v\":[]}]") }
            let unordered = try await harness.sync(members)
            #expect(unordered.failure?.fault == .final, "\(unordered)")
            #expect(try harness.records()["n:1"] == "{\"id\":1,\"v\":25}")
        }
    }

    @Test(arguments: [("remote", false), ("local", true), ("newest", true)])
    func `a row that was made here and the remote does not list stays, unless the remote counts`(
        _ merge: String, _ stays: Bool
    ) async throws {
        let members =
            "\(Self.replace),\"version\":\"/v\",\"merge\":\"\(merge)\",\"deletedItems\":\"/gone\",\"items\":\"/d\""
        try await SyncHarness.with { _ in
            .json("{\"d\":[{\"id\":1}],\"gone\":[]}")
        } _: { harness in
            _ = try await harness.sync(members)
            try harness.put("{\"id\":2}\n{\"id\":3}")
            harness.origin.set { _ in .json("{\"d\":[{\"id\":1}],\"gone\":[2]}") }
            let second = try await harness.sync(members)
            #expect(try harness.keys() == (stays ? ["n:1", "n:2", "n:3"] : ["n:1"]), "\(second)")
        }
    }

    @Test func `tombstones and lists of deleted keys delete, and in a delta a deletion wins`() async throws {
        let members =
            "\"items\":\"/d\",\"deleted\":\"/x\",\"deletedItems\":\"/gone\","
            + "\"since\":{\"parameter\":\"since\",\"from\":\"token:/t\"}"
        try await SyncHarness.with { _ in
            .json("{\"d\":\(list(1...4)),\"t\":\"a\"}")
        } _: { harness in
            _ = try await harness.sync(members)
            harness.origin.set { request in
                guard request.query["since"] == "a" else { return .answer(500) }
                return .json(
                    "{\"gone\":[2,7,{\"id\":6}],\"d\":[{\"id\":1,\"x\":true},{\"id\":7},{\"id\":5,\"x\":false}],\"t\":\"b\"}"
                )
            }
            let delta = try await harness.sync(members)
            #expect(delta.result?.numbers("inserted", "deleted", "updated") == [1, 2, 0], "\(delta)")
            #expect(delta.result?["full"]?.bool == false && delta.result?["token"]?.string == "b")
            #expect(try harness.keys() == ["n:3", "n:4", "n:5"])
        }
    }

    @Test func `the later of two records with one key counts`() async throws {
        try await SyncHarness.with { _ in
            .json("[{\"id\":1,\"a\":1},{\"id\":2},{\"id\":1,\"a\":2}]")
        } _: { harness in
            let outcome = try await harness.sync()
            #expect(outcome.result?.numbers("inserted", "duplicates") == [2, 1], "\(outcome)")
            #expect(try harness.records()["n:1"] == "{\"id\":1,\"a\":2}")
        }
    }

    @Test func `rows that another program has changed during a sync are not overwritten unseen`() async throws {
        try await SyncHarness.with { _ in
            .json(list(1...3))
        } _: { harness in
            _ = try await harness.sync()
            harness.origin.set { request in
                // Between the staging of page 1 and the merge.
                if request.query["page"] == "2" {
                    try? SQLiteProbe(harness.file).run("UPDATE record SET hash = x'00', body = '{}' WHERE key = 'n:2'")
                    return .json("[]")
                }
                return .json(list(1...3))
            }
            let second = try await harness.sync("\"pages\":{\"by\":\"page\"}")
            #expect(second.failure?.fault == .command, "\(second)")
            #expect(second.failure?.reason.contains("another program") == true)
            let third = try await harness.sync("\"conditional\":false")
            #expect(third.failure == nil, "\(third)")
            #expect(try harness.records()["n:2"] == "{\"id\":2}")
        }
    }
}
