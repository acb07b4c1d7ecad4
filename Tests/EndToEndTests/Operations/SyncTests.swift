import Commands
import Foundation
import Sluice
import Store
import Synchronization
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice sync` and `sluice collection`.
    struct SyncTests {
        /// 1,000 quotes on pages of 100 with a cursor. Each has the version of the list.
        private final class Quotes: RequestHandler {
            struct State {
                var version = 1
                var count = 1000
                /// Wait before each answer.
                var pause = Duration.zero
                var tag: String?
            }

            let state = Mutex(State())
            static let perPage = 100

            static func record(_ id: Int, _ version: Int) -> String {
                "{\"id\": \(id), \"version\": \(version), \"author\": \"author \(id % 7)\", \"text\": \"quote “\(id)”\"}"
            }

            func respond(to request: HandledRequest) -> Behaviour {
                let state = state.withLock { $0 }
                let version = state.version
                if let tag = state.tag {
                    if request["if-none-match"] == tag { return .answer(304, headers: ["ETag": tag]) }
                    let all = (0..<state.count).map { Self.record($0, version) }.joined(separator: ",")
                    return .answer(200, headers: ["ETag": tag], body: "{\"results\": [\(all)]}")
                }
                let page = Int(request.target.split(separator: "=").last ?? "") ?? 0
                let ids = page * Self.perPage..<min((page + 1) * Self.perPage, state.count)
                let next = ids.upperBound < state.count ? "\"\(page + 1)\"" : "null"
                let records = ids.isEmpty ? "" : ids.map { Self.record($0, version) }.joined(separator: ", ")
                let answer = Behaviour.answer(200, body: "{\"results\": [\(records)], \"next\": \(next)}")
                guard state.pause > .zero else { return answer }
                let wait = "wait \(state.pause.components.attoseconds / 1_000_000_000_000_000)ms"
                let body = "{\"results\": [\(records)], \"next\": \(next)}"
                    .replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
                return (try? Behaviour("\(wait); answer 200 body \"\(body)\"")) ?? answer
            }
        }

        private static let paging = ["--pages", "cursor", "--cursor", "/next", "--page-parameter", "page"]

        private func with(_ body: (Installation, Quotes, [String]) async throws -> Void) async throws {
            try await Installation.with { installation in
                let server = try await installation.receiver(hashes: false)
                let quotes = Quotes()
                server.handle(by: quotes)
                let arguments = [
                    "sync", "\(server.origin)/quotes", "--collection", "quotes", "--key", "/id", "--records",
                    "/results",
                ]
                try await body(installation, quotes, arguments)
            }
        }

        private func sluice(
            _ installation: Installation, _ arguments: [String], within limit: Duration = .seconds(60)
        ) async throws -> Installation.Finished {
            try await installation.run(program: "\(Installation.bin)/sluice", arguments, within: limit)
        }

        @Test func `a list of 1,000 quotes becomes a collection that can be queried`() async throws {
            try await with { installation, quotes, arguments in
                _ = try await installation.up()
                let client = try SluiceClient(data: installation.data, store: installation.serverStore?.url)
                let events = try client.events(prefix: "collection/")
                let columns = ["--column", "author=/author", "--column", "edition=/version"]
                let first = try await sluice(installation, arguments + Self.paging + columns + ["--wait"])
                #expect(
                    first.output
                        == "quotes is at revision 1: 1,000 records read, 1,000 inserted, 0 updated, 0 unchanged, 0 deleted\n",
                    "\(first.output)\(first.errors)")
                try #require(first.code == 0)
                var iterator = events.makeAsyncIterator()
                let event = try #require(await iterator.next())
                #expect(event.topic == "collection/quotes" && event.body["inserted"]?.integer == 1000, "\(event)")
                await client.close()
                let listed = try await installation.sluice("collection", "list", "--json").json()
                #expect(listed["records"]?.integer == 1000 && listed["rev"]?.integer == 1, "\(listed.text)")
                let one = try await installation.sluice("collection", "query", "quotes", "--key", "17", "--json")
                #expect(one.output == Quotes.record(17, 1) + "\n", "\(one.output)\(one.errors)")
                let all = try await installation.sluice("collection", "query", "quotes", "--limit", "0", "--json")
                #expect(Set(all.lines) == Set((0..<1000).map { Quotes.record($0, 1) }))
                let some = try await installation.sluice(
                    "collection", "query", "quotes", "--column", "author=author 3", "--json", "--limit", "0")
                #expect(some.lines.count == 143, "\(some.errors)")
                let counted = try await installation.sluice(
                    "collection", "query", "quotes", "--sql", "SELECT count(*) AS n FROM record", "--json")
                #expect(counted.output == "{\"n\":1000}\n", "\(counted.errors)")
                let written = try await installation.sluice(
                    "collection", "query", "quotes", "--sql", "DELETE FROM record")
                #expect(written.code == 65, "\(written.errors)")
                let table = try await installation.sluice("collection", "query", "quotes", "--key", "5")
                #expect(table.lines == ["KEY  AUTHOR    EDITION", "n:5  author 5  1"], "\(table.output)")
                quotes.state.withLock { $0.version = 2 }
                let json = try await sluice(installation, arguments + Self.paging + columns + ["--wait", "--json"])
                    .json()
                #expect(
                    json["result"]?["updated"]?.integer == 1000 && json["result"]?["rev"]?.integer == 2, "\(json.text)")
                let since = try await installation.sluice(
                    "collection", "query", "quotes", "--since", "1", "--limit", "3", "--json")
                #expect(since.lines.count == 3 && since.errors.contains("more than 3"), "\(since.errors)")
            }
        }

        @Test func `an empty list is refused, and an unchanged one is not read`() async throws {
            try await with { installation, quotes, arguments in
                _ = try await installation.up()
                quotes.state.withLock { ($0.tag, $0.count) = ("\"1\"", 60) }
                let replace = arguments + ["--mode", "replace", "--wait"]
                _ = try await sluice(installation, replace)
                let again = try await sluice(installation, replace)
                #expect(again.output == "quotes is at revision 1: the list has not changed\n", "\(again.errors)")
                quotes.state.withLock { ($0.tag, $0.count) = ("\"2\"", 0) }
                let empty = try await sluice(installation, replace)
                #expect(empty.code == 1 && empty.errors.contains("allowEmpty"), "\(empty.errors)")
                quotes.state.withLock { ($0.tag, $0.count) = ("\"3\"", 20) }
                let few = try await sluice(installation, replace)
                #expect(few.code == 1 && few.errors.contains("maxDelete"), "\(few.errors)")
                let shown = try await installation.sluice("collection", "show", "quotes", "--json").json()
                #expect(shown["records"]?.integer == 60 && shown["rev"]?.integer == 1, "\(shown.text)")
                let permitted = try await sluice(installation, replace + ["--max-delete", "40"])
                #expect(permitted.output.contains("40 deleted"), "\(permitted.output)\(permitted.errors)")
            }
        }

        @Test func `records are put and removed on this side`() async throws {
            try await with { installation, quotes, arguments in
                _ = try await installation.up()
                quotes.state.withLock { $0.count = 3 }
                _ = try await sluice(installation, arguments + Self.paging + ["--wait"])
                let put = try await installation.sluice(
                    "collection", "put", "quotes", "{\"id\": 1, \"text\": \"mine\"}")
                #expect(put.output == "quotes is at revision 2: 0 inserted, 1 updated, 0 unchanged\n", "\(put.errors)")
                let lines = try await installation.sluice(
                    "collection", "put", "quotes", "-", input: "{\"id\": 8}\n{\"id\": 9}\n")
                #expect(lines.output.contains("2 inserted"), "\(lines.errors)")
                let bad = try await installation.sluice(
                    "collection", "put", "quotes", "-", input: "{\"id\": 10}\n{\"a\": 1}\n")
                #expect(bad.code == 65 && bad.errors.contains("line 2"), "\(bad.errors)")
                let removed = try await installation.sluice("collection", "remove", "quotes", "8")
                #expect(removed.output == "quotes is at revision 4: 1 deleted\n", "\(removed.errors)")
                let none = try await installation.sluice("collection", "remove", "quotes", "8")
                #expect(none.code == 66, "\(none.errors)")
                quotes.state.withLock { $0.version = 2 }
                let local = try await sluice(installation, arguments + Self.paging + ["--merge", "local", "--wait"])
                #expect(local.code == 0, "\(local.errors)")
                let kept = try await installation.sluice("collection", "query", "quotes", "--key", "1", "--json")
                #expect(kept.output == "{\"id\": 1, \"text\": \"mine\"}\n")
                _ = try await sluice(installation, arguments + Self.paging + ["--wait"])
                let replaced = try await installation.sluice("collection", "query", "quotes", "--key", "1", "--json")
                #expect(replaced.output == Quotes.record(1, 2) + "\n")
                #expect(
                    try await installation.sluice("collection", "query", "quotes", "--key", "9", "--json").lines.count
                        == 1)
            }
        }

        @Test func `another program reads the collection, while a sync runs and after all have ended`() async throws {
            guard let python = program("python3") else { return }
            try await with { installation, quotes, arguments in
                let up = try await installation.up()
                _ = try await sluice(installation, arguments + Self.paging + ["--wait"])
                let script = """
                    import sqlite3
                    file = sqlite3.connect('file:\(installation.data)/collections/quotes.sqlite?mode=ro', uri=True)
                    print(file.execute("SELECT count(*), sum(json_extract(body, '$.version')) FROM record").fetchone())
                    """
                let reader = try await installation.run(program: python, ["-c", script])
                #expect(reader.output == "(1000, 1000)\n", "\(reader.errors)")
                kill(up.pid, SIGTERM)
                _ = try await up.end(within: .seconds(30))
                let later = try await installation.run(program: python, ["-c", script])
                #expect(later.output == "(1000, 1000)\n", "\(later.errors)")
            }
        }

        @Test(arguments: [
            (["sync", "ftp://a/", "--collection", "a"], 64, "unknown"), (["sync", "http://a/"], 64, "--collection"),
            (["sync", "http://a/", "--collection", "A b"], 65, "1 to 64"),
            (["sync", "http://a/", "--collection", "a", "--key", "id"], 65, "slash"),
            (["sync", "http://a/", "--collection", "a", "--pages", "cursor"], 65, "cursor"),
            (["sync", "http://a/", "--collection", "a", "--merge", "newest"], 65, "version"),
            (["sync", "http://a/", "--collection", "a", "--max-delete", "200%"], 65, "maxDelete"),
            (["sync", "http://a/", "--collection", "a", "--column", "key=/key"], 65, "another column"),
            (["sync", "http://a/", "--collection", "a", "--column", "x"], 64, "--column"),
            (["sync", "http://a/", "--collection", "a", "--header", "Range: bytes=0-"], 65, "cannot be set"),
            (["sync", "http://a/", "--collection", "a", "--overlap", "5s"], 64, "--since"),
            (["collection", "show", "nothing"], 66, "there is no collection"),
            (["collection", "query", "../x"], 66, "there is no collection"),
            (["collection", "put", "../x", "{}"], 65, "not the name"),
            (["collection", "put", "new", "{\"id\":1}"], 65, "--key"),
        ])
        func `invalid arguments are refused before anything is submitted`(
            _ arguments: [String], _ code: Int32, _ words: String
        ) async throws {
            try await Installation.with { installation in
                let refused = try await sluice(installation, arguments)
                #expect(refused.code == code && refused.errors.contains(words), "\(refused.errors)")
                #expect(refused.output.isEmpty)
                #expect(!FileManager.default.fileExists(atPath: "\(installation.data)/collections/a.sqlite"))
            }
        }

        // MARK: Death

        /// Polls a collection as a program would that knows nothing of Sluice.
        private final class Reader: Sendable {
            private let task: Task<[String], Never>

            init(_ path: String) {
                task = Task.detached {
                    var problems: [String] = []
                    while !Task.isCancelled {
                        if let seen = try? Self.look(path), seen != "1000|1|1", seen != "0|0|0" {
                            problems.append(seen)
                        }
                        try? await Task.sleep(for: .milliseconds(1))
                    }
                    return problems
                }
            }

            /// Rows, different versions of the list, and different revisions.
            private static func look(_ path: String) throws -> String {
                try SQLiteProbe(path, flags: 1).text(
                    """
                    SELECT count(*) || '|' || count(DISTINCT json_extract(body, '$.version')) || '|' || count(DISTINCT rev)
                    FROM record
                    """)
            }

            func stop() async -> [String] {
                task.cancel()
                return await task.value
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `kill -9 of the worker at any point loses, doubles and half-applies nothing`() async throws {
            var random = SeededRandom.announced("sync and kill -9")
            try await with { installation, quotes, arguments in
                _ = try await installation.coordinator()
                var worker = try await installation.worker()
                let path = "\(installation.data)/collections/quotes.sqlite"
                quotes.state.withLock { $0.pause = .milliseconds(3) }
                let store = try installation.store()
                func sync() async throws -> CommandID {
                    try #require(
                        try await sluice(installation, arguments + Self.paging + ["--mode", "replace"]).ids.first)
                }
                let start = ContinuousClock.now
                try await installation.await(try await sync(), .success, in: store)
                let usual = ContinuousClock.now - start
                let reader = Reader(path)
                var kills = 0
                for round in 2...21 {
                    quotes.state.withLock { $0.version = round }
                    let id = try await sync()
                    while true {
                        try await Task.sleep(for: usual * (random.fraction() * 0.7))
                        let status = try store.command(id)?.status
                        if status == .success || kills >= 3 * round { break }
                        kill(worker.pid, SIGKILL)
                        kills += 1
                        worker = try await installation.worker()
                    }
                    let command = try await installation.await(id, .success, .tooManyTimes, .cancelled, in: store)
                    #expect(command.status == .success, "\(command.reason ?? "")")
                    let probe = try SQLiteProbe(path, flags: 1)
                    #expect(try probe.number("SELECT value FROM state WHERE name = 'rev'") == round)
                    #expect(
                        try probe.texts("SELECT body FROM record").sorted()
                            == (0..<1000).map { Quotes.record($0, round) }.sorted())
                    #expect(try probe.number("SELECT count(*) FROM change WHERE op = 'u' AND rev = \(round)") == 1000)
                    #expect(try probe.number("SELECT count(*) FROM stage") == 0)
                }
                #expect(await reader.stop() == [])
                print("sync and kill -9: \(kills) kills in 20 syncs of \(usual)")
                #expect(kills > 5)
            }
        }
    }
}
