import Commands
import Store
import TestSupport
import Testing

/// Unique keys whose period ends.
@Suite(.postgreSQLServer) struct UniquePeriodConformance {
    private static func draft(_ period: UniquePeriod, payload: String = "{}") -> CommandDraft {
        .noop.with {
            $0.uniqueKey = "latest.csv"
            $0.uniqueFor = period
            $0.payload = Array(payload.utf8)
        }
    }

    private static func submit(
        _ draft: CommandDraft, _ subject: StoreUnderTest, now: Timestamp = .base
    ) throws -> Submission {
        try subject.store.submit([draft], allowUnknownTypes: false, now: now)[0].get()
    }

    private static let cases = StoreKind.current.flatMap { kind in CommandStatus.allCases.map { (kind, $0) } }

    @Test(arguments: cases)
    func `a key for “kept” is held in every status but cancelled and tooManyTimes`(
        _ kind: StoreKind, _ status: CommandStatus
    ) throws {
        let subject = try StoreUnderTest(kind)
        let first = try subject.make(status, of: Self.draft(.kept))
        let second = try Self.submit(Self.draft(.kept), subject)
        #expect(second.isExisting == ![.cancelled, .tooManyTimes].contains(status))
        #expect((second.id == first) == second.isExisting)
    }

    @Test(arguments: cases)
    func `a key for “running” is held until success, cancelled or tooManyTimes`(
        _ kind: StoreKind, _ status: CommandStatus
    ) throws {
        let subject = try StoreUnderTest(kind)
        let first = try subject.make(status, of: Self.draft(.running))
        let command = try #require(try subject.store.command(first))
        #expect(command.uniqueFor == .running)
        let second = try Self.submit(Self.draft(.running), subject)
        #expect(second.isExisting == ![.success, .cancelled, .tooManyTimes].contains(status))
        #expect(second.isExisting == command.holdsUniqueKey(at: .base))
        // The second command holds the key now, even where the first one has ended.
        #expect(try Self.submit(Self.draft(.running), subject) == Submission(id: second.id, isExisting: true))
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: cases)
    func `a key with a duration is held from the submit on in every status but cancelled and tooManyTimes`(
        _ kind: StoreKind, _ status: CommandStatus
    ) throws {
        let subject = try StoreUnderTest(kind)
        let draft = Self.draft(.duration(.seconds(600)))
        let first = try subject.make(status, of: draft)
        let isHeld = ![.cancelled, .tooManyTimes].contains(status)
        let command = try #require(try subject.store.command(first))
        #expect(command.uniqueFor == .duration(.seconds(600)))
        #expect(command.holdsUniqueKey(at: .base + .milliseconds(599_999)) == isHeld)
        #expect(!command.holdsUniqueKey(at: .base + .seconds(600)))

        guard isHeld else { return #expect(try !Self.submit(draft, subject, now: .base).isExisting) }
        let early = try Self.submit(draft, subject, now: .base + .milliseconds(599_999))
        #expect(early == Submission(id: first, isExisting: true))
        let late = try Self.submit(draft, subject, now: .base + .seconds(600))
        #expect(!late.isExisting && late.id != first)
        // The period of the second counts from its own submit.
        let later = try Self.submit(draft, subject, now: .base + .seconds(1199))
        #expect(later == Submission(id: late.id, isExisting: true))
        #expect(try subject.status(first) == (status == .blocked ? .new : status))
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.current)
    func `a command whose key went to another one runs to its end and is retried without it`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let draft = Self.draft(.duration(.seconds(10)))
        let first = try Self.submit(draft, subject).id
        try subject.open()
        try subject.claim(first)
        let late = Timestamp.base + .seconds(20)
        let second = try Self.submit(draft, subject, now: late).id
        #expect(second != first)
        try subject.apply(.end(first, claim: 1, .failure(CommandFailure(.final, reason: "no"))), now: late)
        #expect(try subject.status(first) == .tooManyTimes)
        #expect(try subject.store.retry(first, now: late) != nil)
        #expect(try Self.submit(draft, subject, now: late) == Submission(id: second, isExisting: true))
        try subject.claim(first, now: late)
        try subject.apply(.end(first, claim: 2, .success(result: nil)), now: late)
        #expect(try subject.status(first) == .success)
        #expect(try Self.submit(draft, subject, now: late) == Submission(id: second, isExisting: true))
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.current)
    func `a command in doubt whose key went to another one is resolved without a conflict`(_ kind: StoreKind) throws {
        for status in [CommandStatus.new, .success, .cancelled] {
            let subject = try StoreUnderTest(kind)
            let draft = Self.draft(.duration(.seconds(10)))
            let first = try subject.make(.inDoubt, of: draft)
            let late = Timestamp.base + .seconds(20)
            let second = try Self.submit(draft, subject, now: late).id
            #expect(second != first)
            #expect(try subject.store.resolve(first, as: status, now: late) != nil)
            #expect(try subject.status(first) == status)
            #expect(try Self.submit(draft, subject, now: late) == Submission(id: second, isExisting: true))
        }
    }

    @Test(arguments: StoreKind.current)
    func `a retry takes the key back within its period, and conflicts where another command holds it`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind)
        for period in [UniquePeriod.kept, .running, .duration(.seconds(600))] {
            let draft = Self.draft(period)
            let first = try Self.submit(draft, subject).id
            _ = try subject.store.cancel(first, reason: "no", now: .base)
            let second = try Self.submit(draft, subject).id
            #expect(second != first)
            let error = try #require(throws: StoreError.self) { try subject.store.retry(first, now: .base) }
            #expect(error.code == .conflict && error.id == second)
            #expect(error.message.contains(period.end(since: .base)), "\(error.message)")
            #expect(try subject.status(first) == .cancelled)
            _ = try subject.store.cancel(second, reason: "no", now: .base)
            #expect(try subject.store.retry(first, now: .base) != nil)
            #expect(try Self.submit(draft, subject) == Submission(id: first, isExisting: true))
            _ = try subject.store.cancel(first, reason: "no", now: .base)
        }
    }

    @Test(arguments: StoreKind.current)
    func `a retry takes the key from a command whose period has lapsed`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let first = try Self.submit(Self.draft(.kept), subject).id
        _ = try subject.store.cancel(first, reason: "no", now: .base)
        let second = try Self.submit(Self.draft(.duration(.seconds(10))), subject).id
        let late = Timestamp.base + .seconds(10)
        #expect(try subject.store.retry(first, now: late) != nil)
        #expect(try Self.submit(Self.draft(.kept), subject, now: late) == Submission(id: first, isExisting: true))
        #expect(try subject.status(second) == .new)
    }

    @Test(arguments: StoreKind.current)
    func `the period of the command that holds the key counts, not that of the second submit`(_ kind: StoreKind) throws
    {
        let subject = try StoreUnderTest(kind)
        let first = try subject.make(.success, of: Self.draft(.kept))
        #expect(try Self.submit(Self.draft(.running), subject) == Submission(id: first, isExisting: true))
        #expect(try subject.store.command(first)?.uniqueFor == .kept)
    }

    @Test(arguments: StoreKind.current)
    func `a conflict says how long the key is held`(_ kind: StoreKind) throws {
        let ends: [(UniquePeriod, String)] = [
            (.kept, "it is held while the command is kept, until 7 days after its end."),
            (.running, "it is held until the command has ended."),
            (.duration(.seconds(600)), "it is held until 2026-03-01T00:10:00.000Z."),
        ]
        for (period, end) in ends {
            let subject = try StoreUnderTest(kind)
            let first = try Self.submit(Self.draft(period), subject).id
            let error = try #require(throws: StoreError.self) {
                try Self.submit(Self.draft(.kept, payload: #"{"milliseconds":1}"#), subject)
            }
            #expect(error.code == .conflict && error.id == first)
            #expect(error.message.contains("\(first)") && error.message.hasSuffix(end), "\(error.message)")
        }
    }

    @Test(arguments: StoreKind.current)
    func `a key whose period has lapsed goes to the first of several drafts, whatever its payload`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind)
        let first = try Self.submit(Self.draft(.duration(.seconds(1))), subject).id
        let other = Self.draft(.duration(.seconds(1)), payload: #"{"milliseconds":1}"#)
        let late = Timestamp.base + .seconds(5)
        let results = try subject.store.submit([other, other], allowUnknownTypes: false, now: late).map { try $0.get() }
        #expect(results[0].id != first && results[1].id == results[0].id)
        #expect(results.map(\.isExisting) == [false, true])
    }

    @Test(arguments: StoreKind.current)
    func `a pruned command holds no key, however long its period is`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let draft = Self.draft(.duration(.seconds(30 * 86_400)))
        let first = try subject.make(.success, of: draft)
        let now = Timestamp.base + .seconds(60)
        #expect(try Self.submit(draft, subject, now: now).id == first)
        let shard = first.shard(of: subject.store.shardCount)
        #expect(try subject.store.prune(shard: shard, before: now, statuses: [.success], limit: 10).count == 1)
        #expect(try !Self.submit(draft, subject, now: now).isExisting)
    }

    @Test(arguments: StoreKind.current)
    func `a period below a millisecond is refused, and one without end never lapses`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        for duration in [Duration.zero, .seconds(-1), .microseconds(999)] {
            let error = try #require(throws: StoreError.self) {
                try Self.submit(Self.draft(.duration(duration)), subject)
            }
            #expect(error.code == .invalid && error.message.contains("at least 1 ms"), "\(error.message)")
        }
        let endless = Self.draft(.duration(.seconds(Int64.max)))
        let first = try Self.submit(endless, subject).id
        let late = Timestamp(milliseconds: .max - 1)
        #expect(try Self.submit(endless, subject, now: late) == Submission(id: first, isExisting: true))
    }
}
