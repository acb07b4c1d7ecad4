import Commands
import Foundation
import TestSupport
import Testing

@testable import Sync

/// One execution over a real socket: what is taken over, what is written.
@Suite struct SyncOperationTests {
    @Test func `a list becomes rows, and the next sync writes what has changed`() async throws {
        try await SyncHarness.with { _ in
            .json(list(1...3))
        } _: { harness in
            let first = try await harness.sync()
            #expect(
                first.result?.numbers("rev", "records", "inserted", "updated", "deleted") == [1, 3, 3, 0, 0], "\(first)"
            )
            #expect(try harness.records() == ["n:1": "{\"id\":1}", "n:2": "{\"id\":2}", "n:3": "{\"id\":3}"])
            harness.origin.set { _ in .json("[{\"id\":1}, {\"id\" : 2, \"a\":true},\n {\"id\":4}]") }
            let second = try await harness.sync()
            #expect(
                second.result?.numbers("rev", "inserted", "updated", "unchanged", "deleted") == [2, 1, 1, 1, 0],
                "\(second)")
            #expect(try harness.records()["n:2"] == "{\"id\" : 2, \"a\":true}")
            let changes = try harness.probe().texts("SELECT rev || op || key FROM change ORDER BY rev, key")
            #expect(changes == ["1in:1", "1in:2", "1in:3", "2un:2", "2in:4"])
            #expect(try harness.probe().number("SELECT count(*) FROM stage") == 0)
        }
    }

    @Test func `an unchanged list makes no revision, no change and no event`() async throws {
        try await SyncHarness.with { _ in
            .json(list(1...50))
        } _: { harness in
            _ = try await harness.sync()
            let second = try await harness.sync()
            #expect(second.result?.numbers("rev", "unchanged", "updated") == [1, 50, 0], "\(second)")
            #expect(try harness.probe().number("SELECT count(*) FROM change WHERE rev > 1") == 0)
            #expect(harness.events.count == 1)
            let event = try #require(harness.events.first)
            #expect(
                event.topic == "collection/things" && event.body.numbers("rev", "inserted", "deleted") == [1, 50, 0])
        }
    }

    @Test func `the files are private, and a reader that may not write reads what the last sync left`() async throws {
        try await SyncHarness.with { _ in
            .json(list(1...3))
        } _: { harness in
            _ = try await harness.sync()
            func mode(_ path: String) -> mode_t {
                var status = stat()
                return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
            }
            #expect(mode(harness.collections.path) == 0o700)
            for ending in ["", "-wal", "-shm"] { #expect(mode(harness.file + ending) == 0o600, "\(ending)") }
            guard geteuid() == 0, let setpriv = program("setpriv"), let python = program("python3") else { return }
            for path in [harness.directory.path, harness.collections.path] { chmod(path, 0o755) }
            for ending in ["", "-wal", "-shm"] { chmod(harness.file + ending, 0o644) }
            let script =
                "import sqlite3; print(sqlite3.connect('file:\(harness.file)?mode=ro', uri=True)"
                + ".execute('SELECT count(*) FROM record').fetchone()[0])"
            let reader = try ChildProcess(
                [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", python, "-c", script],
                directory: "/", log: "\(harness.directory.path)/reader")
            let ending = try await reader.end(within: .seconds(30))
            #expect(reader.output == "3\n", "\(ending) \(reader.errors)")
        }
    }

    @Test func `a list of one page is asked for with its validators, and a 304 writes nothing`() async throws {
        try await SyncHarness.with { request in
            guard request.headers["if-none-match"] == "\"1\"" else {
                return .json(list(1...3), headers: ["ETag": "\"1\""])
            }
            return .answer(304, headers: ["ETag": "\"1\""])
        } _: { harness in
            _ = try await harness.sync()
            let before = contents(of: "\(harness.file)-wal")
            let second = try await harness.sync()
            #expect(second.result?["notModified"]?.bool == true && second.result?["rev"]?.integer == 1, "\(second)")
            #expect(contents(of: "\(harness.file)-wal") == before)
            // Other columns need the rows again.
            let third = try await harness.sync("\"columns\":{\"id\":\"/id\"}")
            #expect(third.result?["notModified"]?.bool == false, "\(third)")
            let unasked = try await harness.sync("\"columns\":{\"id\":\"/id\"},\"conditional\":false")
            #expect(unasked.result?["notModified"]?.bool == false, "\(unasked)")
            try harness.put("{\"id\":1,\"here\":true}")
            let changed = try await harness.sync("\"columns\":{\"id\":\"/id\"}")
            #expect(changed.result?["notModified"]?.bool == false, "\(changed)")
            #expect(try harness.records()["n:1"] == "{\"id\":1}")
        }
    }

    @Test func `a command that was merged and not reported succeeds without a request`() async throws {
        try await SyncHarness.with { _ in
            .json(list(1...3))
        } _: { harness in
            let id = CommandID()
            let first = try await harness.sync(id: id)
            let again = try await harness.sync(id: id)
            #expect(again.result == first.result && again.result != nil, "\(again)")
            #expect(harness.server.requests.count == 1)
        }
    }

    @Test func `one sync at a time writes to a collection`() async throws {
        try await SyncHarness.with { _ in
            .json(list(1...3))
        } _: { harness in
            let path = harness.collections.lock(SyncHarness.name)
            let lock = try #require(try CollectionLock.attempt(path))
            let second = try await harness.sync()
            let failure = try #require(second.failure)
            #expect(failure.fault == .link && failure.isAnswer && failure.retryAfter != nil)
            #expect(failure.reason.hasPrefix("the collection is being synced"), "\(failure.reason)")
            #expect(harness.server.requests.isEmpty)
            #expect(throws: CollectionError.self) { try harness.put("{\"id\":9}") }
            // The locked file has lost its name, so it excludes no other process any more.
            unlink(path)
            let third = try await harness.sync()
            #expect(third.result?["rev"]?.integer == 1, "\(third)")
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `columns are made, indexed and replaced`() async throws {
        let body = "[{\"id\":1,\"mail\":\"a@x\",\"at\":[{\"n\":5}]},{\"id\":2,\"mail\":\"b@x\",\"at\":[]}]"
        try await SyncHarness.with { _ in
            .json(body)
        } _: { harness in
            _ = try await harness.sync("\"columns\":{\"mail\":\"/mail\",\"first\":\"/at/0/n\"}")
            #expect(try harness.probe().text("SELECT key FROM record WHERE mail = 'b@x'") == "n:2")
            #expect(try harness.probe().number("SELECT first FROM record WHERE key = 'n:1'") == 5)
            #expect(try harness.probe().plan("SELECT key FROM record WHERE mail = 'b@x'").contains("column_mail"))
            _ = try await harness.sync("\"columns\":{\"mail\":\"/id\"}")
            #expect(try harness.probe().text("SELECT key FROM record WHERE mail = 2") == "n:2")
            _ = try await harness.sync()
            #expect(throws: Missed.self) { try harness.probe().text("SELECT mail FROM record") }
        }
    }

    @Test func `a file is a list too, and is not read again while it is the same`() async throws {
        try await SyncHarness.with { _ in
            .json("[]")
        } _: { harness in
            let path = try harness.directory.file("list.json", Array(list(1...3).utf8))
            let text = "{\"url\":\"file://\(path)\",\"collection\":\"\(SyncHarness.name)\"}"
            let payload = try JSONValue(parsing: text.utf8)
            let first = try await harness.outcome(of: try harness.execution(CommandID(), payload))
            #expect(first.result?.numbers("rev", "inserted") == [1, 3], "\(first)")
            let second = try await harness.outcome(of: try harness.execution(CommandID(), payload))
            #expect(second.result?["notModified"]?.bool == true, "\(second)")
            unlink(path)
            let third = try await harness.outcome(of: try harness.execution(CommandID(), payload))
            #expect(third.failure?.fault == .final, "\(third)")
        }
    }

    @Test func `a file that is not a collection is left alone`() async throws {
        try await SyncHarness.with { _ in
            .json(list(1...3))
        } _: { harness in
            _ = try harness.directory.makeDirectory("collections")
            let other = try SQLiteProbe(creating: harness.file)
            try other.run("CREATE TABLE mine(a); INSERT INTO mine VALUES (1)")
            let foreign = try await harness.sync()
            #expect(foreign.failure?.fault == .final, "\(foreign)")
            #expect(foreign.failure?.reason.contains("is not a collection") == true)
            #expect(try other.number("SELECT count(*) FROM mine") == 1)
        }
        try await SyncHarness.with { _ in
            .json(list(1...3))
        } _: { harness in
            _ = try harness.directory.makeDirectory("collections")
            try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: harness.file))
            let damaged = try await harness.sync()
            #expect(damaged.failure?.fault == .final, "\(damaged)")
            #expect(damaged.failure?.reason.contains("is damaged") == true, "\(damaged)")
        }
    }

    @Test func `the oldest changes are deleted, and readers are told from which revision on`() async throws {
        try await SyncHarness.with { request in
            .json(list(1...request.number))
        } _: { harness in
            for _ in 1...5 { _ = try await harness.sync("\"conditional\":false") }
            try CollectionStore(harness.collections, SyncHarness.name).write { db in
                try CollectionMerge.pruneChanges(db, keeping: 2)
            }
            #expect(try harness.probe().texts("SELECT rev FROM change ORDER BY rev") == ["4", "5"])
            let reader = try CollectionReader(harness.collections, SyncHarness.name)
            #expect(try reader.summary().oldestRev == 3)
            #expect(try reader.deletions(since: 2) == nil && reader.deletions(since: 3) == 0)
        }
    }
}
