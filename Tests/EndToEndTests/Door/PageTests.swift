import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The pages of a door in a headless Chromium.
    @Suite(.serialized, .enabled(if: isAvailable(program("chromedriver") != nil && PythonScript.has("selenium"))))
    struct PageTests {
        /// A door with commands of several statuses, one with a hostile name, flows, a batch, a limit and a pause.
        private static func with(_ body: (Installation, DoorRig) async throws -> Void) async throws {
            try await Installation.with { installation in
                let settings = """
                    door: {maxUploadSize: 64MiB, uploadQuota: 80MiB, minFreeSpace: 1MiB}
                    routes: {named: {command: {type: upload, payload: {to: "https://a.invalid/in/{name}", method: PUT}}}}

                    """
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
                )
                try Data(settings.utf8).write(to: URL(fileURLWithPath: "\(installation.data)/sluice.yaml"))
                let door = try await DoorRig(installation)
                let name = "\"><svg onload=alert(1)>\u{202E}gpj 🙂"
                let file = try installation.directory.file(name, Array("x".utf8))
                let wide = "name: wide\nnodes:\n" + (0..<200).map { "  n\($0): {type: noop}\n" }.joined()
                let lines = String(repeating: "{\"payload\":{}}\n", count: 8)
                let commands: [(arguments: [String], input: String?)] = [
                    (["put", file, "--to", "https://a.invalid/in/"], nil),
                    (["put", file, "--to", "https://b.invalid/in/"], nil),
                    (
                        ["flow", "submit", "-"],
                        "name: import\nnodes:\n  a: {type: noop}\n  b: {type: noop, after: a}\n"
                    ),
                    (["flow", "submit", "-"], wide),
                    (["limit", "set", "slow", "--starts", "5/h"], nil),
                    (["batch", "submit", "noop", "-", "--name", "<b>", "--then-end", "{\"type\": \"noop\"}"], lines),
                    (["submit", "noop", "--limit", "slow"], nil), (["submit", "noop", "--payload", "-"], lines),
                    (["pause", "--destination", "https://a.invalid"], nil),
                    (["schedule", "put", "beat", "0 4 * * *", "noop"], nil),
                ]
                for command in commands {
                    let finished = try await installation.run(
                        program: "\(Installation.bin)/sluice", command.arguments + ["--data", installation.data],
                        input: command.input.map { Array($0.utf8) })
                    #expect(finished.code == 0, "\(command.arguments): \(finished.errors)")
                }
                try await body(installation, door)
            }
        }

        /// Runs a mode of the program `pages`, and does what it asks for.
        private static func run(_ mode: String, _ installation: Installation, _ door: DoorRig) async throws {
            let python = try #require(PythonScript.interpreter(with: "selenium"), "deploy/prepare test installs it")
            let orders = "\(installation.directory.path)/orders"
            try FileManager.default.createDirectory(atPath: orders, withIntermediateDirectories: true)
            let browser = try installation.start(
                program: python,
                [
                    PythonScript.path("pages"), mode, door.origin, "\(Installation.bin)/sluice", installation.data,
                    orders,
                ])
            var done = 0
            while browser.ending == nil {
                // Each wait of the browser is bounded. This ends a browser that does not answer at all.
                try await until("an order of the browser", within: .seconds(900)) {
                    browser.ending != nil || Self.orders(in: browser.output).count > done
                }
                for order in Self.orders(in: browser.output).dropFirst(done) {
                    if order != "start" { try await door.kill() }
                    if order != "kill" { try await door.start() }
                    done += 1
                    try Data().write(to: URL(fileURLWithPath: "\(orders)/\(done)"))
                }
            }
            let end = try await browser.end(within: .seconds(60))
            #expect(end == .exited(0), "\(browser.output)\n\(browser.errors)")
        }

        private static func orders(in output: String) -> [Substring] {
            output.split(separator: "\n").compactMap { line in
                let words = line.split(separator: " ")
                return words.count == 2 && ["kill", "start", "restart"].contains(words[1]) ? words[1] : nil
            }
        }

        @Test(arguments: ["views", "noscript"])
        func `every view works in a browser`(mode: String) async throws {
            try await Self.with { installation, door in
                _ = try await installation.coordinator()
                try await Self.run(mode, installation, door)
            }
        }

        @Test func `a page is live, says the age of its data, and moves nothing in use`() async throws {
            try await Self.with { installation, door in
                _ = try await installation.coordinator()
                try await Self.run("live", installation, door)
            }
        }

        @Test func `a page of another origin uploads with a token, and reads nothing else`() async throws {
            try await Self.with { installation, door in
                try await Self.run("origin", installation, door)
                let store = try installation.store()
                var uploads: [Upload] = []
                for shard in 0..<store.shardCount {
                    uploads += try store.uploads(
                        shard: shard, state: .complete, order: .newestFirst, after: nil, limit: 10)
                }
                let upload = try #require(uploads.first { $0.facts.fileName == "cross.bin" })
                #expect(door.bytes("/\(upload.id)") == Array("abcdef".utf8))
            }
        }

        @Test func `an upload goes on after a pause, a reload, and a kill of the door`() async throws {
            try await Self.with { installation, door in
                var random = SeededRandom.announced("PageTests")
                let bytes = random.bytes(48 << 20)
                _ = try installation.directory.file("film.bin", bytes)
                try await Self.run("upload", installation, door)
                let store = try installation.store()
                var uploads: [Upload] = []
                for shard in 0..<store.shardCount {
                    uploads += try store.uploads(
                        shard: shard, state: .complete, order: .newestFirst, after: nil, limit: 10)
                }
                let films = uploads.filter { $0.facts.fileName == "film.bin" }
                let film = try #require(films.first)
                #expect(films.count == 1 && uploads.count { $0.facts.route == nil } == 6)
                #expect(
                    Set(uploads.filter { $0.facts.route == "named" }.map(\.facts.fileName)) == ["x.txt", "busy.bin"])
                #expect(door.bytes("/\(film.id)") == bytes)
            }
        }
    }
}
