import Commands
import Testing

@testable import Sync

/// The deletion of what is missing, and its brakes (operations.md, section 5.3).
@Suite struct MissingRowsTests {
    private static func facts(_ change: (inout ReadFacts) -> Void = { _ in }) -> ReadFacts {
        var facts = ReadFacts(
            mode: .replace, read: .full, end: .complete, paging: .none, listed: 95, rows: 100, missing: 5)
        change(&facts)
        return facts
    }

    private func decision(_ change: (inout ReadFacts) -> Void = { _ in }) -> MissingRows {
        MissingRows(Self.facts(change), collection: "users")
    }

    private func reason(_ decision: MissingRows) -> String? {
        if case .retain(let reason) = decision { reason } else { nil }
    }

    private func wait(_ decision: MissingRows) -> String? {
        if case .wait(let reason) = decision { reason } else { nil }
    }

    private func refusal(_ decision: MissingRows) -> CommandFailure? {
        if case .refuse(let failure) = decision { failure } else { nil }
    }

    @Test func `a whole read of a replacing sync deletes what is missing`() {
        #expect(reads(decision()) == 1)
        #expect(reads(decision { $0.missing = 0 }) == 1)
    }

    private func reads(_ decision: MissingRows) -> Int? {
        if case .delete(let proof) = decision { proof.reads } else { nil }
    }

    /// A read of several pages whose first page is the same behind the last one.
    private static func several(_ change: @escaping (inout ReadFacts) -> Void = { _ in }) -> (inout ReadFacts) -> Void {
        { facts in
            (facts.paging, facts.pages, facts.firstPage) = (.cursor, 10, .same)
            change(&facts)
        }
    }

    @Test func `one read of several pages deletes nothing, and the first page is asked for again`() {
        #expect(decision(Self.several { $0.firstPage = .unknown }) == .checkFirstPage)
        guard case .wait(let sentence) = decision(Self.several()) else {
            Issue.record("rows were deleted after one read")
            return
        }
        #expect(sentence.contains("5 rows are missing") && sentence.contains("next complete read"))
        #expect(wait(decision(Self.several { $0.firstPage = .changed }))?.contains("first page") == true)
        let moved = Self.several { ($0.end, $0.firstPage) = (.moved, .unknown) }
        #expect(wait(decision(moved))?.contains("totals") == true)
        #expect(reads(decision(Self.several { $0.missing = 0 })) == 1)
    }

    @Test func `a row is deleted where two reads in a row saw the same list without it`() {
        #expect(reads(decision(Self.several { ($0.missingBefore, $0.isSameAsLast) = (5, true) })) == 2)
        // The list has changed since the last sync: a second read of this command decides.
        #expect(decision(Self.several { $0.missingBefore = 5 }) == .readAgain)
        #expect(
            reads(decision(Self.several { ($0.missingBefore, $0.isSecondRead, $0.isSameAsFirst) = (5, true, true) }))
                == 1)
        guard case .wait = decision(Self.several { ($0.missingBefore, $0.isSecondRead) = (5, true) }) else {
            Issue.record("rows were deleted although the list moved between the reads")
            return
        }
        // A list that always changes.
        #expect(
            reads(decision(Self.several { ($0.missingBefore, $0.missingOften, $0.isSecondRead) = (5, 2, true) }))
                == ReadProof.maxReads)
    }

    @Test func `a list that changes during each read loses the rows that five reads in a row miss`() {
        let movements: [(inout ReadFacts) -> Void] = [
            { $0.firstPage = .changed }, { ($0.end, $0.firstPage) = (.moved, .unknown) },
            { ($0.paging, $0.duplicates, $0.isSecondRead) = (.page, 1, true) },
        ]
        for movement in movements {
            // Equal reads prove nothing where the last one shows a change.
            let before = Self.several {
                movement(&$0)
                ($0.missingBefore, $0.isSameAsLast, $0.isSameAsFirst) = (5, true, true)
            }
            #expect(wait(decision(before)) != nil)
            // Nothing can be deleted, so the limit does not end the sync.
            let many = Self.several {
                movement(&$0)
                ($0.missing, $0.maxDelete) = (80, .count(1))
            }
            #expect(wait(decision(many)) != nil)
            let often = Self.several {
                movement(&$0)
                ($0.missingBefore, $0.missingOften) = (5, 2)
            }
            #expect(reads(decision(often)) == ReadProof.maxReads)
        }
    }

    @Test func `an upserting sync and a delta delete nothing, and say nothing`() {
        #expect(decision { $0.mode = .upsert } == .retain(because: nil))
        #expect(decision { $0.read = .delta(token: "t") } == .retain(because: nil))
        #expect(decision { ($0.mode, $0.listed, $0.missing) = (.upsert, 0, 100) } == .retain(because: nil))
        #expect(decision { ($0.read, $0.listed, $0.missing) = (.delta(token: "t"), 0, 100) } == .retain(because: nil))
    }

    @Test func `a read that may lack a part deletes nothing and gives the reason`() {
        #expect(
            reason(decision { $0.end = .partial(because: "3 of 9 records came") })?.contains("3 of 9 records came")
                == true)
        #expect(reason(decision { $0.everyPageWas200 = false })?.contains("200") == true)
        #expect(reason(decision { $0.rejectsWithoutKey = 2 })?.contains("2 rejected records") == true)
    }

    @Test func `a list that moved is read once more, and then nothing is deleted`() {
        for paging in [PagingRule.Kind.page, .offset] {
            #expect(decision { ($0.paging, $0.duplicates) = (paging, 1) } == .readAgain)
            #expect(
                wait(
                    decision(Self.several { ($0.paging, $0.duplicates, $0.isSecondRead) = (paging, 1, true) }))?
                    .contains("changed") == true)
            #expect(reads(decision { ($0.paging, $0.isSecondRead) = (paging, true) }) == 1)
        }
        for paging in [PagingRule.Kind.none, .link, .cursor] {
            #expect(reads(decision { ($0.paging, $0.duplicates) = (paging, 1) }) == 1)
        }
    }

    @Test func `an empty list is refused unless allowEmpty`() throws {
        let empty: (inout ReadFacts) -> Void = { ($0.listed, $0.missing) = (0, 100) }
        let failure = try #require(refusal(decision(empty)))
        #expect(
            failure.fault == .final && failure.reason.contains("“allowEmpty”") && failure.reason.contains("“users”")
                && failure.reason.contains("100 rows"))
        #expect(failure.reason.contains("nothing was written"))
        #expect(
            reads(
                decision {
                    empty(&$0)
                    $0.allowEmpty = true
                }) == 1)
        // One row is enough to refuse, and an empty collection has none.
        #expect(refusal(decision { ($0.listed, $0.rows, $0.missing) = (0, 1, 1) }) != nil)
        #expect(reads(decision { ($0.listed, $0.rows, $0.missing) = (0, 0, 0) }) == 1)
    }

    static let limits: [(DeleteLimit, missing: Int, rows: Int, permitted: Bool)] = [
        (.percent(50), 50, 100, true), (.percent(50), 51, 100, false), (.percent(50), 10, 11, true),
        (.percent(50), 11, 12, false),
        (.percent(0), 1, 10, false), (.percent(0), 0, 10, true), (.percent(0), 11, 1_000_000, false),
        (.percent(100), 1000, 1000, true),
        (.percent(33), 33, 99, false),
        (.percent(33), 33, 100, true), (.count(0), 1, 100, false), (.count(5), 6, 100, false),
        (.count(20), 20, 100, true), (.count(20), 21, 1_000_000, false),
    ]

    @Test(arguments: limits.indices)
    func `more deletions than maxDelete are refused, and of a share only more than ten`(index: Int) throws {
        let (limit, missing, rows, isPermitted) = Self.limits[index]
        let decision = decision {
            ($0.maxDelete, $0.missing, $0.rows, $0.listed) = (limit, missing, rows, max(rows - missing, 1))
        }
        guard isPermitted else {
            let failure = try #require(refusal(decision))
            #expect(
                failure.fault == .final && failure.reason.contains("“maxDelete” (\(limit.text))")
                    && failure.reason.contains("\(missing) of the \(rows) rows"))
            return
        }
        #expect(reads(decision) == 1)
    }
}
