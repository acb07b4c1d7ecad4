import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Unique keys as the command line takes and shows them.
    struct UniqueKeyTests {
        private static func existing(_ finished: Installation.Finished) throws -> [Bool?] {
            try finished.lines.map { try JSONValue(parsing: Array($0.utf8))["existing"]?.bool }
        }

        @Test func `a second submit says that its command exists, in text and in JSON`() async throws {
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

        @Test func `bulk says of each line in JSON whether its command exists, and how many do in text`() async throws {
            try await Installation.with { installation in
                let lines = #"""
                    {"payload":{},"uniqueKey":"a"}
                    {"payload":{},"uniqueKey":"b"}
                    {"payload":{},"uniqueKey":"a"}
                    {"payload":{}}
                    """#
                let first = try await installation.sluice("submit", "noop", "-", "--json", input: lines)
                #expect(first.code == 0 && first.errors.isEmpty, "\(first.errors)")
                #expect(try Self.existing(first) == [false, false, true, false])
                let again = try await installation.sluice("submit", "noop", "-", input: lines)
                #expect(again.ids.count == 4)
                #expect(again.errors == "sluice: existing: 3 of 4 commands; --json tells which\n")
            }
        }

        @Test func `a file is the same under a key by its path, size and time, and not by its inode`() async throws {
            try await Installation.with { installation in
                let source = try installation.place.file("a", [1, 2, 3])
                let copy = "\(installation.place.path)/copy"
                func put(_ options: String...) async throws -> Installation.Finished {
                    try await installation.run(
                        program: "\(Installation.bin)/sluice",
                        ["put", source, "--unique-key", "once", "--to", "file:///nowhere/"] + options)
                }
                let first = try await put("--spool")
                let id = try #require(first.ids.first, "\(first.errors)")
                // Another inode with the content and the time of the first.
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
