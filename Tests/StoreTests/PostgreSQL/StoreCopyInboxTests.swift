import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// Copies of stores whose inbox has commands that were submitted by SQL.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct StoreCopyInboxTests {
    private let rig: StoreCopyRig

    init() throws { rig = try StoreCopyRig() }

    /// Submits commands by SQL.
    /// - Returns: their ids, in the order of the calls.
    @discardableResult
    private func submit(_ keys: [String], to place: StoreCopy.Place) throws -> [CommandID] {
        try keys.map { key in
            let rows = try rig.rows(
                "SELECT \(try rig.schema(of: place)).submit('noop', '{\"a\": 1}', ordering_key => '\(key)')", in: place)
            return try #require(rows.first { row in row[0] as CommandID })
        }
    }

    private func inbox(of place: StoreCopy.Place) throws -> [String] {
        try rig.rows(
            "SELECT id::text || type || encode(payload, 'hex') || options || is_ordered FROM inbox ORDER BY number",
            in: place
        ).rows { row in row[0] as String }
    }

    @Test func `a copy on a server has the commands of the inbox in their order, and takes them in`() throws {
        let (first, last) = (rig.postgreSQL(), rig.postgreSQL())
        _ = try rig.make(first)
        let ids = try submit(["b", "a", "b", "a"], to: first)
        let report = try StoreCopy.run(from: first, to: last)
        #expect(report.rows[.inbox] == 4)
        #expect(try inbox(of: last) == inbox(of: first))
        let store = try rig.open(last).store
        let round = try store.moveInbox(.whole, limit: 10) { entries in InboxRig.accept(entries) }
        #expect(round.ids.sorted() == ids.sorted() && round.problem == nil)
        // A number that the copy has drawn is not given again.
        try submit(["c"], to: last)
        #expect(try inbox(of: last).count == 1)
    }

    @Test func `an inbox that a data directory would not have is refused with the number of its commands`() throws {
        let (first, last) = (rig.postgreSQL(), rig.sqlite())
        _ = try rig.make(first)
        try submit(["a", "b", "c"], to: first)
        let error = try StoreCopyRig.error { _ = try StoreCopy.run(from: first, to: last) }
        #expect(
            error.code == .busy && error.message.contains("3 commands") && error.message.contains("sluice up"),
            "\(error)")
        #expect(try StoreCopyRig.error { _ = try rig.open(last) }.code == .missing)
        do {
            let store = try rig.open(first).store
            _ = try store.moveInbox(.whole, limit: 10) { entries in InboxRig.accept(entries) }
        }
        _ = try StoreCopy.run(from: first, to: last)
        #expect(try rig.open(last).counted()[.new] == 3)
    }

    @Test func `commands that were submitted to an unfinished copy stay behind those of the source`() throws {
        let (first, last) = (rig.postgreSQL(), rig.postgreSQL())
        _ = try rig.make(first)
        let ids = try submit(["a", "b"], to: first)
        _ = try StoreCopyRig.error {
            _ = try StoreCopy.run(from: first, to: last) { _ throws(StoreError) in
                throw StoreError(.failed, "interrupted")
            }
        }
        let later = try submit(["a"], to: last)
        let report = try StoreCopy.run(from: first, to: last)
        #expect(report.rows[.inbox] == 2)
        let entries = try rig.rows("SELECT id FROM inbox", in: last).rows { row in row[0] as CommandID }
        #expect(entries.sorted() == (ids + later).sorted())
    }

    @Test func `a store whose inbox alone has commands is not empty`() throws {
        let (first, last) = (rig.postgreSQL(), rig.postgreSQL())
        _ = try (rig.make(first), rig.make(last))
        try submit(["a"], to: last)
        let error = try StoreCopyRig.error { _ = try StoreCopy.run(from: first, to: last) }
        #expect(error.code == .invalid && error.message.contains("not empty"), "\(error)")
        #expect(try inbox(of: last).count == 1)
    }
}
