import Foundation
import TestSupport
import Testing

@testable import Fetch

/// The check of stored responses, which changes nothing.
@Suite struct ResponseConditionTests {
    private func with(_ body: (_ directory: String) throws -> Void) throws {
        let directory = try TemporaryDirectory("responses")
        defer { directory.remove() }
        try body("\(directory.path)/cache")
    }

    @Test func `a store that was never made is missing, and is not made`() throws {
        try with { directory in
            #expect(ResponseStore.condition(of: directory) == .missing)
            #expect(!FileManager.default.fileExists(atPath: directory))
        }
    }

    @Test func `a sound store is counted`() throws {
        try with { directory in
            let store = try ResponseStore(directory: directory)
            withExtendedLifetime(store) {
                #expect(ResponseStore.condition(of: directory) == .sound(responses: 0))
            }
        }
    }

    @Test func `a damaged store, and one of another version, is reported and left as it is`() throws {
        try with { directory in
            _ = try ResponseStore(directory: directory)
            let index = "\(directory)/index.sqlite"
            try SQLiteProbe(index).run("PRAGMA user_version = 7")
            guard case .lost(let version) = ResponseStore.condition(of: directory) else {
                Issue.record("another version was accepted")
                return
            }
            #expect(version.contains("another version"))
            let garbage = Data(repeating: 0x41, count: 9000)
            try garbage.write(to: URL(fileURLWithPath: index))
            guard case .lost(let damaged) = ResponseStore.condition(of: directory) else {
                Issue.record("a damaged index was accepted")
                return
            }
            #expect(damaged.contains("damaged"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: index)) == garbage)
        }
    }
}
