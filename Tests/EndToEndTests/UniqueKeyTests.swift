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
    }
}
