import Commands
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Sync

/// The directory of collections, with files in it that are not collections.
@Suite struct CollectionDirectoryTests {
    /// Two collections, `a` and `z`, of three records.
    private func with(_ body: (CollectionDirectory, TemporaryDirectory) throws -> Void) throws {
        let directory = try TemporaryDirectory("collections")
        defer { directory.remove() }
        _ = try directory.makeDirectory("run")
        let collections = CollectionDirectory(data: directory.path)
        for name in ["a", "z"] {
            _ = try CollectionWriter(collections, name)
                .put(lines: Array("{\"id\":1}\n{\"id\":2}\n{\"id\":3}".utf8), key: ["/id"])
        }
        try body(collections, directory)
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    private func read(_ collections: CollectionDirectory) throws -> (names: [String], problems: [String: String]) {
        var names: [String] = []
        let problems = try collections.visit { name, reader in
            _ = try reader.summary()
            names.append(name)
        }
        return (names, Dictionary(uniqueKeysWithValues: problems.map { ($0.name, $0.error.problem.rawValue) }))
    }

    @Test func `a file that is not a collection does not end the others`() throws {
        try with { collections, directory in
            try Data(repeating: 0x41, count: 5000).write(to: URL(fileURLWithPath: collections.file("damaged")))
            try SQLiteProbe(creating: collections.file("foreign")).run("CREATE TABLE t(a)")
            let newer = collections.file("newer")
            _ = try CollectionWriter(collections, "newer").put(lines: Array("{\"id\":1}".utf8), key: ["/id"])
            try SQLiteProbe(newer).run("PRAGMA user_version = 99")
            let other = try SQLiteProbe(creating: collections.file("other"))
            try other.run("PRAGMA application_id = \(CollectionSchema.applicationID); CREATE TABLE record(a)")
            mkdir(collections.file("directory"), 0o700)
            let (names, problems) = try read(collections)
            #expect(names == ["a", "z"])
            #expect(
                problems == [
                    "damaged": "damaged", "foreign": "foreign", "newer": "foreign",
                    "other": "invalid", "directory": "system",
                ])
        }
    }

    @Test func `a file without a table is missing until a sync fills it`() throws {
        try with { collections, directory in
            #expect(creat(collections.file("empty"), 0o600) >= 0)
            // The header of SQLite, and no table: its process ended before it made them.
            let header = try SQLiteProbe(creating: collections.file("header"))
            try header.run("PRAGMA journal_mode = WAL")
            #expect(try collections.names() == ["a", "header", "z"])
            #expect(try read(collections).names == ["a", "z"])
            #expect(try read(collections).problems.isEmpty)
            for name in ["empty", "header"] {
                let error = #expect(throws: CollectionError.self) { try CollectionReader(collections, name) }
                #expect(error?.problem == .missing, "\(name): \(String(describing: error))")
                _ = try CollectionWriter(collections, name).put(lines: Array("{\"id\":1}".utf8), key: ["/id"])
            }
            #expect(try read(collections).names == ["a", "empty", "header", "z"])
        }
    }

    @Test func `a copy that fails leaves no file, and the others are copied`() throws {
        try with { collections, directory in
            let damaged = collections.file("m")
            _ = try CollectionWriter(collections, "m")
                .put(lines: (0..<2000).flatMap { Array("{\"id\":\($0),\"a\":\"text\"}\n".utf8) }, key: ["/id"])
            try SQLiteProbe(damaged).run("PRAGMA wal_checkpoint(TRUNCATE)")
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: damaged))
            let size = try file.seekToEnd()
            for page in 6..<size / 4096 {
                try file.seek(toOffset: page * 4096)
                try file.write(contentsOf: Data(repeating: 0xFF, count: 4096))
            }
            try file.close()
            let target = CollectionDirectory(data: "\(directory.path)/copy")
            mkdir("\(directory.path)/copy", 0o700)
            let failures = try collections.visit { _, reader in try reader.copy(to: target) }
            #expect(failures.map(\.name) == ["m"] && failures.first?.error.problem == .damaged, "\(failures)")
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: target.path).sorted() == ["a.sqlite", "z.sqlite"])
            #expect(try CollectionReader(target, "z").summary().records == 3)
            #expect(mode(target.file("z")) == 0o600)
        }
    }

    @Test func `permissions that are too open are named`() throws {
        try with { collections, directory in
            #expect(try collections.permissionProblems() == [])
            chmod(collections.file("a"), 0o644)
            chmod(collections.file("z") + "-wal", 0o660)
            chmod(collections.path, 0o755)
            let problems = try collections.permissionProblems()
            #expect(problems.count == 3, "\(problems)")
            for path in [collections.path, collections.file("a"), collections.file("z") + "-wal"] {
                #expect(problems.contains { $0.hasPrefix("\(path) has mode ") }, "\(path)")
            }
            guard geteuid() == 0 else { return }
            chown(collections.file("a"), 65534, 65534)
            #expect(try collections.permissionProblems().contains { $0.contains("belongs to user 65534") })
        }
    }

    @Test func `staged pages are dropped once no execution goes on with them`() throws {
        try with { collections, directory in
            let payload = try SyncPayloadTests.payload([
                ("items", "/d"), ("pages", ["by": "cursor", "cursor": "/next", "parameter": "after"]),
            ])
            func stage(_ name: String, at: Timestamp?) throws {
                let store = try CollectionStore(collections, name)
                var batch = StagedBatch()
                for index in 10..<15 {
                    batch.append(
                        StagedRecord(key: "n:\(index)", index: index, kind: .record), body: Array("{}".utf8)[...])
                }
                _ = try store.stage(batch, page: 1, isDelta: false, rejects: [])
                let checkpoint = at.map {
                    SyncCheckpoint(
                        command: CommandID(), payload: payload, at: $0,
                        position: PagingPosition(number: 2, cursor: "c", items: 5), read: .full,
                        progress: SinceProgress())
                }
                try store.commitPage(checkpoint: checkpoint, counts: StagedCounts())
            }
            let now = Timestamp.now
            try stage("a", at: now + .seconds(-899))
            try stage("z", at: now + .seconds(-900))
            #expect(try collections.prune(now: now).records == 5)
            #expect(try CollectionReader(collections, "a").summary().staged == 5)
            #expect(try CollectionReader(collections, "z").summary().staged == 0)
            try stage("z", at: nil)
            // A collection that is being synced is left alone.
            var lock = try CollectionLock.attempt(collections.lock("z"))
            #expect(lock != nil)
            #expect(try collections.prune(now: now).records == 0)
            lock = nil
            try Data(repeating: 0x41, count: 5000).write(to: URL(fileURLWithPath: collections.file("m")))
            let last = try collections.prune(now: now + .seconds(1))
            #expect(last.records == 10 && last.failures.map(\.name) == ["m"], "\(last)")
            #expect(try CollectionReader(collections, "a").summary().records == 3)
        }
    }

    // MARK: Another directory

    @Test func `the directory may lie elsewhere, and a reader finds it by the link`() throws {
        try with { collections, directory in
            let target = "\(directory.path)/elsewhere"
            let moved = CollectionDirectory(data: directory.path, at: target)
            let lines = Array("{\"id\":1}".utf8)
            let error = #expect(throws: CollectionError.self) {
                try CollectionWriter(moved, "b").put(lines: lines, key: ["/id"])
            }
            #expect(error?.description.contains("collections.directory") == true, "\(String(describing: error))")
            try FileManager.default.removeItem(atPath: collections.path)
            mkdir(collections.path, 0o700)
            for name in ["b", "c"] { _ = try CollectionWriter(moved, name).put(lines: lines, key: ["/id"]) }
            #expect(try CollectionReader(collections, "b").summary().records == 1)
            #expect(try collections.names() == ["b", "c"] && mode(target) == 0o700)
            #expect(access("\(target)/b.sqlite", F_OK) == 0)
            let other = CollectionDirectory(data: directory.path, at: "\(directory.path)/other")
            #expect(throws: CollectionError.self) { try CollectionWriter(other, "b").put(lines: lines, key: nil) }
        }
    }

    @Test func `the files have the mode of their directory, whatever the umask is`() throws {
        try with { collections, directory in
            func modes() -> [mode_t] { collections.files(of: "a").map(mode) }
            #expect(modes() == [0o600, 0o600, 0o600])
            chmod(collections.path, 0o750)
            _ = try CollectionWriter(collections, "a").put(lines: Array("{\"id\":9}".utf8), key: nil)
            #expect(modes() == [0o640, 0o640, 0o640])
            #expect(try collections.permissionProblems().isEmpty)
            chmod(collections.path, 0o700)
            _ = try CollectionWriter(collections, "a").put(lines: Array("{\"id\":10}".utf8), key: nil)
            #expect(modes() == [0o600, 0o600, 0o600])
        }
    }

    @Test func `a program of another user of the group reads the collection, and one of another group does not`()
        async throws
    {
        guard geteuid() == 0, let setpriv = program("setpriv"), let python = program("python3") else { return }
        let directory = try TemporaryDirectory("group")
        defer { directory.remove() }
        for part in ["run", "shared"] { _ = try directory.makeDirectory(part) }
        let target = "\(directory.path)/shared/collections"
        chmod(directory.path, 0o711)
        chmod("\(directory.path)/shared", 0o711)
        mkdir(target, 0o700)
        chown(target, 0, 54321)
        chmod(target, 0o2750)
        _ = try CollectionWriter(CollectionDirectory(data: directory.path, at: target), "quotes")
            .put(lines: Array("{\"id\":1}".utf8), key: ["/id"])
        func read(group: Int) async throws -> String {
            let script =
                "import sqlite3; print(sqlite3.connect('file:\(target)/quotes.sqlite?mode=ro', uri=True)"
                + ".execute('SELECT count(*) FROM record').fetchone()[0])"
            let reader = try ChildProcess(
                [setpriv, "--reuid=65534", "--regid=\(group)", "--clear-groups", python, "-c", script],
                directory: "/", log: "\(directory.path)/reader-\(group)")
            _ = try await reader.end(within: .seconds(30))
            return reader.output
        }
        #expect(try await read(group: 54321) == "1\n")
        #expect(try await read(group: 54322) == "")
    }
}
