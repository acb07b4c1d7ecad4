import Commands
import Foundation
import Synchronization
import TestSupport
import Testing

/// Random lists against a dictionary that is merged by the simplest code.
@Suite struct SyncRandomTests {
    private struct Round {
        var pages: [[(id: Int, value: Int)]]
        var replaces: Bool
    }

    private static func round(_ random: inout SeededRandom) -> Round {
        let pages = (0..<random.number(in: 1..<4)).map { _ in
            (0..<random.number(in: 0..<12)).map { _ in (random.number(in: 0..<20), random.number(in: 0..<3)) }
        }
        return Round(pages: pages, replaces: random.chance(0.5))
    }

    @Test func `random lists are merged as a dictionary would be, and change tells every difference`() async throws {
        var random = SeededRandom.announced("random lists")
        let current = Mutex(Round(pages: [[]], replaces: false))
        try await SyncHarness.with { request in
            let pages = current.withLock { $0.pages }
            let number = Int(request.query["p"] ?? "") ?? 0
            let records = pages[number].map { "{\"id\":\($0.id),\"v\":\($0.value)}" }.joined(separator: ",")
            let next = number + 1 < pages.count ? "\(number + 1)" : "null"
            return .json("{\"d\":[\(records)],\"next\":\(next)}")
        } _: { harness in
            var expected: [String: String] = [:]
            var rev: Int64 = 0
            for _ in 0..<60 {
                let round = Self.round(&random)
                current.withLock { $0 = round }
                var list: [String: String] = [:]
                for record in round.pages.joined() {
                    list["n:\(record.id)"] = "{\"id\":\(record.id),\"v\":\(record.value)}"
                }
                let before = expected
                let mode = round.replaces ? "replace" : "upsert"
                let members =
                    "\"items\":\"/d\",\"mode\":\"\(mode)\",\"allowEmpty\":true,\"maxDelete\":\"100%\","
                    + "\"pages\":{\"by\":\"cursor\",\"cursor\":\"/next\",\"parameter\":\"p\"}"
                var outcome = try await harness.sync(members)
                if round.replaces, outcome.result?["retained"] != nil {
                    // Rows of several pages are deleted by the second read that misses them.
                    expected.merge(list) { $1 }
                    #expect(try harness.records() == expected)
                    if before != expected { rev += 1 }
                    outcome = try await harness.sync(members)
                }
                let between = expected
                expected = round.replaces ? list : expected.merging(list) { $1 }
                let result = try #require(outcome.result, "\(outcome)")
                #expect(try harness.records() == expected)
                if between != expected { rev += 1 }
                #expect(result["rev"]?.integer == rev)
                let changes = try harness.probe().texts("SELECT op || key FROM change WHERE rev = \(rev)")
                guard between != expected else { continue }
                #expect(Set(changes) == Self.differences(between, expected))
                let numbers = result.numbers("inserted", "updated", "deleted")
                #expect(numbers == ["i", "u", "d"].map { op in Int64(changes.count { $0.hasPrefix(op) }) })
            }
        }
    }

    private static func differences(_ before: [String: String], _ after: [String: String]) -> Set<String> {
        var differences: Set<String> = []
        for (key, body) in after where before[key] != body {
            differences.insert(before[key] == nil ? "i\(key)" : "u\(key)")
        }
        for key in before.keys where after[key] == nil { differences.insert("d\(key)") }
        return differences
    }
}
