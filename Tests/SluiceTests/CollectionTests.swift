import Foundation
import Host
import Sluice
import Store
import Synchronization
import TestSupport
import Testing

/// Collections in a program.
@Suite struct CollectionTests {
    private func quote(_ id: Int, _ text: String = "a") -> JSONValue {
        ["id": .integer(Int64(id)), "text": .string(text)]
    }

    @Test func `records that were put are read, counted by revision, and removed`() async throws {
        try await Rig.with { rig in
            let quotes = rig.client.collection("quotes")
            let first = try await quotes.put((1...3).map { quote($0) }, key: ["/id"])
            #expect(first == CollectionRevision(revision: 1, inserted: 3))
            #expect(try await rig.client.collections() == ["quotes"])
            let all = try await quotes.records()
            #expect(all.revision == 1 && all.records.map(\.key) == ["n:1", "n:2", "n:3"])
            #expect(all.records.allSatisfy { $0.isLocal && $0.revision == 1 })
            #expect(try await quotes.records(limit: 2).records.count == 2)
            let second = try await quotes.put([quote(1), quote(2, "b"), quote(4)])
            #expect(second.revision == 2 && (second.inserted, second.updated, second.unchanged) == (1, 1, 1))
            #expect(try await quotes.record("2")?.value["text"]?.string == "b")
            #expect(try await quotes.record("n:2")?.body == #"{"id":2,"text":"b"}"#)
            #expect(try await quotes.record("9") == nil)
            #expect(try await quotes.remove(["3", "9"]).deleted == 1)
            let changes = try #require(try await quotes.changes(since: 1))
            #expect(changes.revision == 3 && changes.changed.map(\.key) == ["n:2", "n:4"])
            #expect(changes.deleted == ["n:3"])
            #expect(try await quotes.changes(since: 3)?.isEmpty == true)
            #expect(try await quotes.changes(since: 4) == nil)
        }
    }

    @Test func `each record is passed once, and an error ends the call`() async throws {
        struct Enough: Error {}
        try await Rig.with { rig in
            let quotes = rig.client.collection("quotes")
            try await quotes.put((1...500).map { quote($0) }, key: ["/id"])
            let keys = Mutex(Set<String>())
            let revision = try await quotes.forEachRecord { record in keys.withLock { _ = $0.insert(record.key) } }
            #expect(revision == 1)
            #expect(keys.withLock { $0.count } == 500)
            let seen = Mutex(0)
            await #expect(throws: Enough.self) {
                try await quotes.forEachRecord { _ in
                    let count = seen.withLock { seen in
                        seen += 1
                        return seen
                    }
                    if count == 10 { throw Enough() }
                }
            }
            #expect(seen.withLock { $0 } == 10)
        }
    }

    @Test func `updates begin with all records and go on with each change of another client`() async throws {
        try await Rig.with { rig in
            let other = try SluiceClient(data: rig.directory.path)
            // The collection does not exist yet.
            var updates = rig.client.collection("quotes").updates().makeAsyncIterator()
            let writer = Task { try await other.collection("quotes").put([quote(1), quote(2)], key: ["/id"]) }
            guard case .all(let all)? = try await updates.next() else {
                Issue.record("the first step has not all records")
                return
            }
            _ = try await writer.value
            // The first step may find the collection between its creation and its first commit.
            if all.revision == 0 {
                guard case .changes(let first)? = try await updates.next() else {
                    Issue.record("the second step has all records")
                    return
                }
                #expect(all.records.isEmpty && first.revision == 1 && first.changed.count == 2)
            } else {
                #expect(all.revision == 1 && all.records.count == 2)
            }
            try await other.collection("quotes").put([quote(2, "b")])
            try await other.collection("quotes").remove(["1"])
            var changed: [String] = []
            var deleted: [String] = []
            while deleted.isEmpty {
                guard case .changes(let changes)? = try await updates.next() else {
                    Issue.record("the next step has all records")
                    return
                }
                changed += changes.changed.map(\.body)
                deleted += changes.deleted
            }
            #expect(changed == [#"{"id":2,"text":"b"}"#] && deleted == ["n:1"])
            // A program that has revision 2 gets what came after it.
            var later = rig.client.collection("quotes").updates(since: 2).makeAsyncIterator()
            let step = try await later.next()
            #expect(step == .changes(CollectionChanges(revision: 3, deleted: ["n:1"])))
            await other.close()
        }
    }

    @Test func `updates begin anew where the changes are not kept any more`() async throws {
        try await Rig.with { rig in
            let quotes = rig.client.collection("quotes")
            for id in 1...3 { try await quotes.put([quote(id)], key: ["/id"]) }
            try SQLiteProbe("\(rig.directory.path)/collections/quotes.sqlite").run(
                "DELETE FROM change WHERE rev < 3; INSERT INTO state(name, value) VALUES ('oldestRev', 2)")
            var updates = quotes.updates(since: 1).makeAsyncIterator()
            guard case .all(let all)? = try await updates.next() else {
                Issue.record("single changes were taken for all")
                return
            }
            #expect(all.revision == 3 && all.records.count == 3)
        }
    }

    @Test func `updates end with their task and with the client`() async throws {
        try await Rig.with { rig in
            let client = try SluiceClient(data: rig.directory.path)
            func follow() -> Task<Void, any Error> {
                Task { for try await _ in client.collection("nothing").updates() {} }
            }
            let (first, second) = (follow(), follow())
            first.cancel()
            try await first.value
            await client.close()
            try await second.value
        }
    }

    @Test func `the events of a collection are those of its whole name`() async throws {
        try await Rig.with { rig in
            let stage = try await Stage(rig.directory)
            var events = try rig.client.collection("quotes").events().makeAsyncIterator()
            try await until("the subscription") { stage.prefixes.contains("collection/quotes") }
            await stage.tell("collection/quotes-2 {\"rev\":1}")
            await stage.tell("collection/quotes {\"rev\":2}")
            let event = try #require(await events.next())
            #expect(event.kind == "collection" && event.subject == "quotes" && event.body["rev"]?.integer == 2)
            await stage.leave()
        }
    }

    @Test func `a collection that cannot be used throws its code`() async throws {
        try await Rig.with { rig in
            let missing = rig.client.collection("missing")
            func code(_ body: () async throws -> Void) async -> SluiceError.Code? {
                let error = await #expect(throws: SluiceError.self) { try await body() }
                return error?.code
            }
            #expect(await code { _ = try await missing.records() } == .noSuchCollection)
            #expect(await code { try await missing.remove(["1"]) } == .noSuchCollection)
            #expect(await code { try await missing.put([["id": 1]]) } == .invalid)
            #expect(await code { try await rig.client.collection("../x").put([["id": 1]], key: ["/id"]) } == .invalid)
            try await rig.client.collection("quotes").put([quote(1)], key: ["/id"])
            #expect(await code { try await rig.client.collection("quotes").put([["text": "x"]]) } == .invalid)
            let none = ["author": "x"]
            #expect(await code { _ = try await rig.client.collection("quotes").records(where: none) } == .invalid)
            let file = "\(rig.directory.path)/collections/bad.sqlite"
            try Data(repeating: 0x41, count: 5000).write(to: URL(fileURLWithPath: file))
            #expect(await code { _ = try await rig.client.collection("bad").records() } == .corrupt)
        }
    }
}
