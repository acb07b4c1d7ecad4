import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Unique keys on the command line.
    struct UniqueKeyTests {
        private static func existing(_ finished: Installation.Finished) throws -> [Bool?] {
            try finished.lines.map { try JSONValue(parsing: Array($0.utf8))["existing"]?.bool }
        }

        @Test func `a second submit reports the existing command, in text and in JSON`() async throws {
            try await Installation.with { installation in
                let first = try await installation.sluice("submit", "noop", "--unique-key", "one")
                #expect(first.code == 0 && first.errors.isEmpty, "\(first.errors)")
                let id = try #require(first.ids.first)
                let second = try await installation.sluice("submit", "noop", "--unique-key", "one")
                #expect(second.code == 0 && second.ids == [id])
                #expect(second.errors == "sluice: existing: \(id)\n")
                let json = try await installation.sluice("submit", "noop", "--unique-key", "one", "--json")
                #expect(try json.json()["id"]?.string == "\(id)")
                #expect(try Self.existing(json) == [true] && json.errors.isEmpty)
                let other = try await installation.sluice("submit", "noop", "--unique-key", "two", "--json")
                #expect(try Self.existing(other) == [false])
            }
        }

        @Test func `a bulk submit reports existing commands: each in JSON, their number in text`() async throws {
            try await Installation.with { installation in
                let lines = #"""
                    {"payload":{},"uniqueKey":"a","uniqueFor":"running"}
                    {"payload":{},"uniqueKey":"b","uniqueFor":"24h"}
                    {"payload":{},"uniqueKey":"a"}
                    {"payload":{}}
                    """#
                let first = try await installation.sluice("submit", "noop", "-", "--json", input: lines)
                #expect(first.code == 0 && first.errors.isEmpty, "\(first.errors)")
                #expect(try Self.existing(first) == [false, false, true, false])
                let again = try await installation.sluice("submit", "noop", "-", input: lines)
                #expect(again.ids.count == 4)
                #expect(again.errors == "sluice: existing: 3 of 4 commands; --json tells which\n")
                let listed = try await installation.sluice("list", "--json")
                let periods = try listed.lines.map { try JSONValue(parsing: Array($0.utf8)) }
                    .filter { $0["uniqueKey"]?.string != nil }.map { $0["uniqueFor"]?.string }
                #expect(Set(periods) == ["running", "1d"])
            }
        }

        @Test func `an invalid --unique-for is refused before anything is submitted`() async throws {
            try await Installation.with { installation in
                for period in ["ten", "10 m", "0s", "-5m", "0.0001s", "KEPT"] {
                    let refused = try await installation.sluice(
                        "submit", "noop", "--unique-key", "k", "--unique-for=\(period)")
                    #expect(refused.code == 64, "\(period): \(refused.errors)")
                    #expect(refused.errors.contains("“kept”, “running”, or a time"), "\(refused.errors)")
                }
                let alone = try await installation.sluice("submit", "noop", "--unique-for", "10m")
                #expect(alone.code == 64 && alone.errors.contains("--unique-key"), "\(alone.errors)")
                let put = try await installation.sluice(
                    "put", "x", "--to", "file:///nowhere/", "--unique-for", "running")
                #expect(put.code == 64 && put.errors.contains("--unique-key"), "\(put.errors)")
                let lines = [
                    (#"{"payload":{},"uniqueKey":"k","uniqueFor":"ten"}"#, "“uniqueFor” is “ten”"),
                    (#"{"payload":{},"uniqueKey":"k","uniqueFor":10}"#, "“uniqueFor” must be a string"),
                    (#"{"payload":{},"uniqueFor":"10m"}"#, "“uniqueKey” is held, which is missing"),
                ]
                for (line, sentence) in lines {
                    let refused = try await installation.sluice("submit", "noop", "-", input: line)
                    #expect(refused.code == 65 && refused.errors.contains(sentence), "\(refused.errors)")
                }
                #expect(try installation.store().counts()[.new] == 0)
            }
        }

        @Test func `a conflict names the command that holds the key, and how long it does`() async throws {
            try await Installation.with { installation in
                func submit(_ payload: String, _ options: String...) async throws -> Installation.Finished {
                    try await installation.run(
                        program: "\(Installation.bin)/sluice", ["submit", "noop", "--payload", payload] + options)
                }
                let ends = ["kept": "until 7 days after its end", "running": "until the command has ended"]
                for (period, end) in ends {
                    let id = try #require(
                        try await submit("{}", "--unique-key", period, "--unique-for", period).ids.first)
                    let refused = try await submit(#"{"milliseconds":1}"#, "--unique-key", period)
                    #expect(refused.code == 65 && refused.output.isEmpty)
                    #expect(refused.errors.contains("\(id)") && refused.errors.contains(end), "\(refused.errors)")
                }
                let id = try #require(try await submit("{}", "--unique-key", "day", "--unique-for", "24h").ids.first)
                let end = try #require(try installation.store().command(id)).createdAt + .seconds(86_400)
                let refused = try await submit(#"{"milliseconds":1}"#, "--unique-key", "day")
                #expect(refused.errors.contains("held until \(end)"), "\(refused.errors)")

                // `status` and `explain` show how long the command holds its key.
                let status = try await installation.sluice("status", "\(id)")
                #expect(status.output.contains("unique for   1d; held until \(end)"), "\(status.output)")
                let explained = try await installation.sluice("explain", "\(id)")
                #expect(explained.output.contains("“day” is held until \(end)"), "\(explained.output)")
                let json = try await installation.sluice("explain", "\(id)", "--json").json()
                #expect(json["uniqueFor"]?.string == "1d" && json["holdsUniqueKey"]?.bool == true)
                #expect(try await installation.sluice("cancel", "\(id)").code == 0)
                let after = try await installation.sluice("status", "\(id)")
                #expect(after.output.contains("unique for   1d; no longer held"), "\(after.output)")
            }
        }

        @Test func `a key with --unique-for running admits the same file again after each success`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let source = try installation.directory.file("latest.csv", [1, 2, 3])
                let target = try installation.directory.makeDirectory("out")
                func put(_ period: String) async throws -> Installation.Finished {
                    try await installation.sluice(
                        "put", source, "--to", "file://\(target)/", "--wait", "--unique-key",
                        period, "--unique-for", period)
                }
                let first = try await put("running")
                #expect(first.code == 0, "\(first.errors)")
                let second = try await put("running")
                #expect(second.code == 0 && second.ids.count == 1 && second.ids != first.ids, "\(second.errors)")
                let kept = try await put("kept")
                #expect(kept.code == 0, "\(kept.errors)")
                #expect(try await put("kept").ids == kept.ids)
            }
        }

        @Test func `a unique key compares a file by path, size and time, not by inode`() async throws {
            try await Installation.with { installation in
                let source = try installation.directory.file("a", [1, 2, 3])
                let copy = "\(installation.directory.path)/copy"
                func put(_ options: String...) async throws -> Installation.Finished {
                    try await installation.run(
                        program: "\(Installation.bin)/sluice",
                        ["put", source, "--unique-key", "once", "--to", "file:///nowhere/"] + options)
                }
                let first = try await put("--spool")
                let id = try #require(first.ids.first, "\(first.errors)")
                // Another inode with the same content and time.
                let replaced = try await installation.run(
                    program: "/bin/sh", ["-c", "cp -p \"$0\" \"$1\" && mv \"$1\" \"$0\"", source, copy])
                #expect(replaced.code == 0, "\(replaced.errors)")
                for options in [[], ["--spool"]] as [[String]] {
                    let again = try await installation.run(
                        program: "\(Installation.bin)/sluice",
                        ["put", source, "--unique-key", "once", "--to", "file:///nowhere/"] + options)
                    #expect(again.ids == [id] && again.errors.contains("existing: \(id)"), "\(again.errors)")
                }
                try Data([4, 5, 6]).write(to: URL(fileURLWithPath: source))
                #expect(try await put().code == 65)
            }
        }

        @Test func `numbers that differ beyond 64 bits are different payloads under one key`() async throws {
            try await Installation.with { installation in
                func submit(_ number: String) async throws -> Installation.Finished {
                    try await installation.sluice(
                        "submit", "mine", "--allow-unknown", "--unique-key", "n", "--payload", "{\"id\":\(number)}")
                }
                let first = try await submit("18446744073709551615")
                let id = try #require(first.ids.first, "\(first.errors)")
                let other = try await submit("18446744073709551616")
                #expect(other.code == 65 && other.errors.contains("\(id)"), "\(other.errors)")
                #expect(try await submit("18446744073709551615").ids == [id])
            }
        }
    }
}
