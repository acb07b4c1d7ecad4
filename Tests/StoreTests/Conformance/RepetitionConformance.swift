import Commands
import Store
import TestSupport
import Testing

/// Commits that are made again because their outcome is unknown.
@Suite(.postgreSQLServer) struct RepetitionConformance {
    private struct Rig {
        let subject: StoreUnderTest
        var store: any CommandStore { subject.store }

        init(_ kind: StoreKind) throws {
            subject = try StoreUnderTest(kind, shardCount: 1)
            try subject.open()
        }

        /// One commit, or its repetition.
        func commit(
            _ writes: [ExecutionWrite], again: Bool = false, seat: Int = StoreUnderTest.seat,
            epoch: Int64 = StoreUnderTest.epoch
        ) throws -> [ExecutionOutcome] {
            let attempt = CommitAttempt(timeout: .seconds(10), isRepetition: again)
            return Array(
                try store.at(.base + .seconds(again ? 2 : 1)) {
                    try store.apply({ writes }, group: store.commitGroup(of: 0), seat: seat, epoch: epoch, attempt)
                })
        }

        /// A commit that was made, and its repetition, which must change nothing.
        @discardableResult
        func commitTwice(_ writes: ExecutionWrite...) throws -> [ExecutionOutcome] {
            let outcomes = try commit(writes)
            let newest = try store.lastTransition(shard: 0)
            let again = try commit(writes, again: true)
            for (before, after) in zip(outcomes, again) {
                // An end in the same commit may have charged a failure.
                if case .done([], _) = before, case .done([], _) = after { continue }
                #expect(after == before, "\(writes)")
            }
            #expect(try store.lastTransition(shard: 0) == newest, "\(writes)")
            return outcomes
        }

        func reap(epoch: Int64 = StoreUnderTest.epoch) throws {
            try store.reap(
                seat: StoreUnderTest.seat, epoch: epoch, charges: false, started: nil, reason: "killed", now: .base
            ) { _ in }
        }
    }

    /// Every end that an execution can have.
    static let results: [ExecutionResult] = [
        .success(result: [1, 2]), .success(result: nil), .cancelled(reason: "not wanted"),
        .failure(CommandFailure(.command, reason: "went wrong")),
        .failure(CommandFailure(.final, reason: "no such thing")),
        .failure(CommandFailure(.link, reason: "cut")), .released(reason: "drained", ambiguous: false),
    ]

    @Test(arguments: StoreKind.allCases) func `a claim that was made is adopted`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        for sent in [false, true] {
            let id = try rig.subject.submit(.noop.with { $0.payload = Array(#"{"milliseconds": 1}"#.utf8) })
            let outcome = try rig.commitTwice(.claim(id, sent: sent))[0]
            guard case .claimed(let command, let payload, nil, let transitions) = outcome else {
                Issue.record("\(outcome)")
                continue
            }
            #expect(command.claim == 1 && command.status == (sent ? .sent : .queued))
            #expect(payload == Array(#"{"milliseconds": 1}"#.utf8))
            #expect(transitions.map(\.status) == (sent ? [.queued, .sent] : [.queued]))
        }
        #expect(try rig.subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.allCases) func `an adopted claim has its checkpoint`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let id = try rig.subject.submit()
        try rig.subject.claim(id)
        _ = try rig.commit([
            .saveCheckpoint(id, claim: 1, state: [7, 8]),
            .end(id, claim: 1, .released(reason: "drained", ambiguous: false)),
        ])
        guard case .claimed(_, _, let checkpoint, _) = try rig.commitTwice(.claim(id, sent: true))[0] else {
            Issue.record("refused")
            return
        }
        #expect(checkpoint == [7, 8])
    }

    @Test(arguments: StoreKind.allCases) func `writes that were not made are made now`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let id = try rig.subject.submit()
        guard case .claimed = try rig.commit([.claim(id, sent: false)], again: true)[0] else {
            Issue.record("refused")
            return
        }
        for write in [
            ExecutionWrite.sent(id, claim: 1), .offset(id, claim: 1, offset: 3, total: 9),
            .saveCheckpoint(id, claim: 1, state: [1]), .end(id, claim: 1, .success(result: nil)),
        ] {
            guard case .done = try rig.commit([write], again: true)[0] else {
                Issue.record("\(write)")
                continue
            }
        }
        #expect(try rig.subject.statuses(id) == [.new, .queued, .sent, .success])
    }

    @Test(arguments: StoreKind.allCases) func `a send that was made is done`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let id = try rig.subject.submit()
        try rig.subject.claim(id, sent: false)
        guard case .done(let transitions, _) = try rig.commitTwice(.sent(id, claim: 1))[0] else {
            Issue.record("replaced")
            return
        }
        #expect(transitions.map(\.status) == [.sent])
    }

    @Test(arguments: StoreKind.allCases, results)
    func `an end that was made is done`(_ kind: StoreKind, _ result: ExecutionResult) throws {
        let rig = try Rig(kind)
        let id = try rig.subject.submit()
        try rig.subject.claim(id)
        // An offset and a checkpoint in the same commit came before it.
        try rig.commitTwice(
            .offset(id, claim: 1, offset: 3, total: 9), .saveCheckpoint(id, claim: 1, state: [1]),
            .end(id, claim: 1, result))
        #expect(try rig.subject.countsAreTrue())
        // A later change of the command makes no difference.
        if try rig.subject.status(id)?.isFinal == false {
            _ = try rig.store.cancel(id, reason: "not wanted", now: .base)
        }
        guard case .done(let transitions, _) = try rig.commit([.end(id, claim: 1, result)], again: true)[0] else {
            Issue.record("replaced")
            return
        }
        #expect(transitions.allSatisfy { $0.claim == 1 && $0.seat == StoreUnderTest.seat })
    }

    @Test(arguments: StoreKind.allCases) func `the writes of another execution are replaced`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let ids = try rig.subject.submit([.noop, .noop, .noop])
        for id in ids { try rig.subject.claim(id, sent: false) }
        try rig.reap()
        let writes = [
            ExecutionWrite.claim(ids[0], sent: false), .sent(ids[1], claim: 1),
            .end(ids[2], claim: 1, .success(result: nil)),
        ]
        // Dead: the commands are released.
        #expect(try rig.commit(writes, again: true) == [.refused, .replaced, .replaced])
        // Claimed by another worker, on the same seat too.
        for (seat, epoch) in [(2, Int64(5)), (StoreUnderTest.seat, 6)] {
            try rig.subject.open(seat: seat, epoch: epoch)
            for id in ids { try rig.subject.claim(id, sent: false, seat: seat, epoch: epoch) }
            #expect(try rig.commit(writes, again: true) == [.refused, .replaced, .replaced])
            for id in ids {
                let claim = try #require(try rig.store.command(id)).claim
                _ = try rig.commit(
                    [.end(id, claim: claim, .released(reason: "drained", ambiguous: false))], seat: seat, epoch: epoch)
            }
        }
    }

    @Test(arguments: StoreKind.allCases) func `an end is done where the command was claimed again`(_ kind: StoreKind)
        throws
    {
        let rig = try Rig(kind)
        let id = try rig.subject.submit()
        try rig.subject.claim(id)
        let end = ExecutionWrite.end(id, claim: 1, .released(reason: "drained", ambiguous: false))
        let first = try rig.commit([end])
        try rig.subject.open(seat: 2, epoch: 5)
        #expect(try rig.subject.claim(id, seat: 2, epoch: 5) == 2)
        #expect(try rig.commit([end], again: true) == first)
        #expect(try rig.subject.status(id) == .sent)
    }

    /// The errors of the attempts, and the error of the call.
    static let failures: [([StoreError.Code], StoreError.Code?)] = [
        ([], nil), ([.busy], .busy), ([.unknown], nil), ([.unknown, .unknown], nil),
        ([.unknown, .unreachable], .unknown),
    ]

    @Test(arguments: failures)
    func `a call that may have been made is not said to have failed`(
        _ errors: [StoreError.Code], _ expected: StoreError.Code?
    ) throws {
        let store = try Rig(.memory).store
        var repetitions: [Bool] = []
        let result = Result { () throws(StoreError) in
            try store.untilKnown { isRepetition throws(StoreError) in
                repetitions.append(isRepetition)
                guard repetitions.count > errors.count else {
                    throw StoreError(errors[repetitions.count - 1], "it failed")
                }
            }
        }
        var error: StoreError.Code?
        if case .failure(let failure) = result { error = failure.code }
        #expect(error == expected)
        #expect(repetitions == [false] + [Bool](repeating: true, count: repetitions.count - 1))
    }

    @Test(arguments: StoreKind.current) func `changes of uploads that were made are done`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let group = rig.store.commitGroup(of: 0)
        func change(_ write: UploadWrite, again: Bool) throws -> UploadChange {
            try rig.store.apply([write], group: group, isRepetition: again)[0].get()
        }
        func changeTwice(_ write: UploadWrite) throws {
            let made = try change(write, again: false)
            let again = try change(write, again: true)
            #expect(made.isApplied && again.isApplied, "\(write)")
            #expect(
                again.upload?.state == made.upload?.state && again.upload?.offset == made.upload?.offset, "\(write)")
            #expect(again.upload?.command == made.upload?.command && again.ready == made.ready, "\(write)")
        }
        func upload() -> Upload {
            Upload(
                id: CommandID(now: .base, shardByte: 0), length: 10, facts: UploadFacts(origin: .tus), createdAt: .base)
        }
        let (first, second, third) = (upload(), upload(), upload())
        try changeTwice(.create(first))
        try changeTwice(.advance(first.id, offset: 4, length: nil, due: nil))
        try changeTwice(.complete(first.id, length: 10, .command(.noop), due: nil))
        try changeTwice(.dropBytes(first.id))
        try changeTwice(.postpone(first.id, due: .base))
        try changeTwice(.store(second, body: [1, 2], .command(.noop)))
        try changeTwice(.create(third))
        try changeTwice(.end(third.id, reason: "not wanted", due: nil))
        try changeTwice(.remove(third.id))
        // Another reason is another end.
        #expect(try !change(.end(first.id, reason: "not wanted", due: nil), again: true).isApplied)
    }
}
