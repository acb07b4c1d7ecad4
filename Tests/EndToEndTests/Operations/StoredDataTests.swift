import Commands
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEndTests {
    /// Upkeep of collections and of stored responses: `collection list`, `backup`, `doctor` and `prune`.
    struct StoredDataTests {
        /// An installation with the collections `authors` and `quotes`.
        private func with(_ body: (Installation, _ collections: String) async throws -> Void) async throws {
            try await Installation.with { installation in
                for name in ["authors", "quotes"] {
                    let put = try await installation.sluice(
                        "collection", "put", name, "-", "--key", "/id", input: "{\"id\":1}\n{\"id\":2}\n")
                    try #require(put.code == 0, "\(put.errors)")
                }
                try await body(installation, "\(installation.data)/collections")
            }
        }

        private func write(_ count: Int, to path: String) throws {
            try Data(repeating: 0x41, count: count).write(to: URL(fileURLWithPath: path))
            chmod(path, 0o600)
        }

        private func findings(_ finished: Installation.Finished) throws -> [(
            check: String, state: String, text: String
        )] {
            try finished.lines.map { line in
                let value = try JSONValue(parsing: line.utf8)
                return (value["check"]?.string ?? "", value["state"]?.string ?? "", value["message"]?.string ?? "")
            }
        }

        @Test func `a bad file among the collections is named, and the others are listed and copied`() async throws {
            try await with { installation, collections in
                try write(0, to: "\(collections)/empty.sqlite")
                let sound = try await installation.sluice("collection", "list", "--json")
                #expect(sound.code == 0 && sound.lines.count == 2, "\(sound.output)\(sound.errors)")
                try write(5000, to: "\(collections)/bad.sqlite")
                try SQLiteProbe(creating: "\(collections)/odd.sqlite").run("CREATE TABLE t(a)")
                let list = try await installation.sluice("collection", "list")
                #expect(list.code == 70 && list.errors.contains("2 of 4 collections cannot be read"), "\(list.errors)")
                let names = list.lines.map { String($0.prefix { $0 != " " }) }
                #expect(names == ["NAME", "authors", "bad", "odd", "quotes"], "\(list.output)")
                #expect(list.lines.count == 5 && list.lines[2].contains("is damaged"), "\(list.output)")
                let json = try await installation.sluice("collection", "list", "--json")
                let rows = try json.lines.map { try JSONValue(parsing: $0.utf8) }
                #expect(json.code == 70 && rows.count == 4)
                #expect(rows.map { $0["problem"]?.string } == [nil, "damaged", "foreign", nil], "\(json.output)")
                // The store of a server is backed up with its server.
                guard installation.serverStore == nil else { return }
                let copy = "\(installation.directory.path)/copy"
                let backup = try await installation.sluice("backup", copy)
                #expect(backup.code == 70, "\(backup.output)\(backup.errors)")
                #expect(backup.output == "8 shards and 2 collections copied to \(copy)\n")
                for name in ["bad", "odd"] {
                    #expect(backup.errors.contains("the collection “\(name)” was not copied: "), "\(backup.errors)")
                }
                let copied = try await installation.sluice("collection", "list", "--json", "--data", copy)
                #expect(copied.code == 0 && copied.lines.count == 2, "\(copied.output)\(copied.errors)")
                let second = try await installation.sluice("backup", "\(copy)2", "--json")
                let failed = try second.json()["failed"]?.elements?.map { $0["collection"]?.string }
                #expect(failed == ["bad", "odd"], "\(second.output)")
            }
        }

        @Test func `doctor checks collections and responses, and changes nothing`() async throws {
            try await with { installation, collections in
                let sound = try await installation.sluice("doctor", "--json")
                #expect(sound.code == 0, "\(sound.output)")
                let checks = try findings(sound).filter { $0.check == "collection" }
                #expect(checks.map(\.text) == ["authors is sound", "quotes is sound"])
                chmod("\(collections)/quotes.sqlite", 0o644)
                let open = try await installation.sluice("doctor", "--json")
                #expect(open.code == 1 && open.output.contains("quotes.sqlite has mode 644"), "\(open.output)")
                chmod("\(collections)/quotes.sqlite", 0o600)
                try SQLiteProbe(creating: "\(collections)/odd.sqlite").run("CREATE TABLE t(a)")
                chmod("\(collections)/odd.sqlite", 0o600)
                #expect(try await installation.sluice("doctor").code == 1)
                try write(5000, to: "\(collections)/bad.sqlite")
                #expect(try await installation.sluice("doctor").code == 70)
                for name in ["bad", "odd"] { unlink("\(collections)/\(name).sqlite") }
                mkdir("\(installation.data)/cache", 0o700)
                let index = "\(installation.data)/cache/index.sqlite"
                try write(9000, to: index)
                let damaged = try await installation.sluice("doctor", "--json")
                let responses = try findings(damaged).first { $0.check == "responses" }
                #expect(damaged.code == 0 && responses?.state == "note", "\(damaged.output)")
                #expect(FileManager.default.contents(atPath: index)?.count == 9000)
            }
        }

        @Test func `prune drops staged pages and bodies that nothing needs`() async throws {
            try await with { installation, collections in
                try SQLiteProbe("\(collections)/quotes.sqlite").run(
                    "INSERT INTO stage(key, page, n, kind) VALUES ('n:7', 1, 0, 3), ('n:8', 1, 1, 3)")
                _ = try await installation.up()
                let server = try await installation.receiver(hashes: false)
                server.handle(by: LargeAnswer())
                let fetched = try await installation.sluice(
                    "fetch", "\(server.origin)/a")
                #expect(fetched.code == 0, "\(fetched.errors)")
                let bodies = "\(installation.data)/cache/body"
                mkdir("\(bodies)/00", 0o700)
                let old = ["\(bodies)/.x.1.part", "\(bodies)/00/00ff"]
                let yesterday = [timeval(tv_sec: time(nil) - 90_000, tv_usec: 0), timeval(tv_sec: 0, tv_usec: 0)]
                for path in old + ["\(bodies)/.y.1.part"] { try write(10, to: path) }
                for path in old { #expect(utimes(path, [yesterday[0], yesterday[0]]) == 0) }
                let prune = try await installation.sluice("prune")
                #expect(
                    prune.lines == [
                        "0 commands removed", "2 staged records removed", "2 left-over bodies of responses removed",
                    ], "\(prune.output)\(prune.errors)")
                for path in old { #expect(access(path, F_OK) != 0, "\(path)") }
                #expect(access("\(bodies)/.y.1.part", F_OK) == 0)
                let stored = try await installation.sluice("fetch", "\(server.origin)/a", "--mode", "stored")
                #expect(stored.output.utf8.count == 100_000, "\(stored.errors)")
                try write(5000, to: "\(collections)/bad.sqlite")
                let bad = try await installation.sluice("prune", "--json")
                #expect(bad.code == 70 && bad.errors.contains("bad.sqlite"), "\(bad.errors)")
                #expect(try bad.json()["stagedRecords"]?.integer == 0)
            }
        }

        private final class LargeAnswer: RequestHandler {
            func respond(to request: HandledRequest) -> Behaviour {
                .answer(
                    200, headers: ["Cache-Control": "max-age=600"], body: String(repeating: "x", count: 100_000))
            }
        }
    }
}
