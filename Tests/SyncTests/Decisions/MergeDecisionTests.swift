import Commands
import Testing

@testable import Sync

/// The merge of operations.md, section 5.3.
@Suite struct MergeDecisionTests {
    struct Case {
        var change: RemoteChange
        var row: StoredRow?
        /// With remote, local and newest.
        var actions: [MergeAction]
    }

    private static func version(_ seconds: Int64) -> RecordVersion { .instant(Timestamp(milliseconds: seconds * 1000)) }

    private static let record = RemoteChange(version: version(100))
    private static let tombstone = RemoteChange(isTombstone: true, version: version(100))

    static let cases: [Case] = [
        Case(change: record, row: nil, actions: [.insert, .insert, .insert]),
        Case(change: tombstone, row: nil, actions: [.none, .none, .none]),
        // A row that came from the remote.
        Case(change: record, row: StoredRow(), actions: [.update, .update, .update]),
        Case(change: record, row: StoredRow(hasSameBody: true), actions: [.none, .none, .none]),
        Case(change: tombstone, row: StoredRow(), actions: [.delete, .delete, .delete]),
        Case(change: tombstone, row: StoredRow(hasSameBody: true), actions: [.delete, .delete, .delete]),
        // A row that was changed here.
        Case(change: record, row: StoredRow(isLocal: true, hasSameBody: true), actions: [.settle, .settle, .settle]),
        Case(
            change: record, row: StoredRow(isLocal: true, version: version(99)),
            actions: [.update, .storeRemote, .update]),
        Case(
            change: record, row: StoredRow(isLocal: true, version: version(100)),
            actions: [.update, .storeRemote, .update]),
        Case(
            change: record, row: StoredRow(isLocal: true, version: version(101)),
            actions: [.update, .storeRemote, .storeRemote]),
        Case(change: record, row: StoredRow(isLocal: true), actions: [.update, .storeRemote, .update]),
        Case(
            change: RemoteChange(), row: StoredRow(isLocal: true, version: version(101)),
            actions: [.update, .storeRemote, .update]),
        Case(
            change: record, row: StoredRow(isLocal: true, version: version(101), hasSameRemote: true),
            actions: [.update, .none, .none]),
        Case(
            change: tombstone, row: StoredRow(isLocal: true, version: version(99)), actions: [.delete, .none, .delete]),
        Case(
            change: tombstone, row: StoredRow(isLocal: true, version: version(101)), actions: [.delete, .none, .none]),
        Case(
            change: RemoteChange(isTombstone: true), row: StoredRow(isLocal: true, version: version(101)),
            actions: [.delete, .none, .delete]),
        // A row that was made here stays where the remote deletes its key (WatermelonDB#1533).
        Case(
            change: tombstone, row: StoredRow(isLocal: true, isMadeHere: true, version: version(1)),
            actions: [.delete, .none, .none]),
        Case(
            change: RemoteChange(isTombstone: true), row: StoredRow(isLocal: true, isMadeHere: true),
            actions: [.delete, .none, .none]),
        Case(
            change: record, row: StoredRow(isLocal: true, isMadeHere: true, version: version(99)),
            actions: [.update, .storeRemote, .update]),
    ]

    @Test(arguments: cases.indices)
    func `the merge rule decides between a remote record and a row`(index: Int) throws {
        let example = Self.cases[index]
        for (rule, action) in zip([MergeRule.remote, .local, .newest], example.actions) {
            let decision = MergeDecision(rule: rule, clockOffset: .zero)
            #expect(try decision.action(for: example.change, on: example.row) == action, "\(rule)")
        }
    }

    @Test func `a local time is corrected by the server's clock`() throws {
        let row = StoredRow(isLocal: true, version: Self.version(101))
        // This host's clock is 10 s ahead, so the change was at 91 s of the server.
        let ahead = MergeDecision(rule: .newest, clockOffset: .seconds(-10))
        #expect(try ahead.action(for: Self.record, on: row) == .update)
        let behind = MergeDecision(rule: .newest, clockOffset: .seconds(10))
        #expect(
            try behind.action(for: Self.record, on: StoredRow(isLocal: true, version: Self.version(91))) == .storeRemote
        )
        // A number is not a time of this host.
        let number = RemoteChange(version: RecordVersion(stored: "100"))
        #expect(
            try ahead.action(for: number, on: StoredRow(isLocal: true, version: RecordVersion(stored: "101")))
                == .storeRemote)
        #expect(
            try ahead.action(for: number, on: StoredRow(isLocal: true, version: RecordVersion(stored: "100.0")))
                == .update)
    }

    @Test func `a number and a date are refused and name the flags`() throws {
        let decision = MergeDecision(rule: .newest, clockOffset: .zero)
        let row = StoredRow(isLocal: true, version: RecordVersion(stored: "5"))
        let error = #expect(throws: MergeRefusal.self) { try decision.action(for: Self.record, on: row) }
        #expect(error?.reason.contains("“version”") == true && error?.reason.contains("“merge”") == true)
        // The other rules compare no versions.
        for rule in [MergeRule.remote, .local] {
            #expect(throws: Never.self) {
                try MergeDecision(rule: rule, clockOffset: .zero).action(for: Self.record, on: row)
            }
        }
    }

    @Test func `a row that was changed or made here is not missing, unless the remote always counts`() {
        for (rule, deletes) in [(MergeRule.remote, true), (.local, false), (.newest, false)] {
            let decision = MergeDecision(rule: rule, clockOffset: .zero)
            #expect(decision.deletesMissing(StoredRow()))
            #expect(decision.deletesMissing(StoredRow(isLocal: true)) == deletes)
            #expect(decision.deletesMissing(StoredRow(isMadeHere: true)) == deletes)
        }
    }

    @Test func `in one delta a deletion wins over a record, and in a list the later entry`() {
        typealias Case = (later: ScanPlan.List, earlier: ScanPlan.List, delta: Bool, full: Bool, duplicate: Bool)
        let cases: [Case] = [
            (.items, .items, true, true, true), (.deletedItems, .deletedItems, true, true, false),
            (.deletedItems, .items, true, false, false), (.items, .deletedItems, false, true, false),
        ]
        for example in cases {
            #expect(StagedChange.replaces(example.later, example.earlier, isDelta: true) == example.delta)
            #expect(StagedChange.replaces(example.later, example.earlier, isDelta: false) == example.full)
            #expect(StagedChange.isDuplicate(example.later, example.earlier) == example.duplicate)
        }
    }
}
