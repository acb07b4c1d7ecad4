import Commands
import Store
import TestSupport
import Testing

@Suite(.postgreSQLServer) struct CancellationConformance {
    @Test(arguments: StoreKind.allCases, CommandStatus.allCases.filter { $0 != .blocked })
    func `a cancellation does what the status allows`(_ kind: StoreKind, _ status: CommandStatus) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.make(status)
        try #require(try subject.status(id) == status)
        let outcome = try subject.store.cancel(id, reason: "not wanted any more", now: .base)
        switch status {
        case .new, .error, .inDoubt, .blocked:
            guard case .cancelled(let effects) = outcome, let event = effects.events.first else {
                Issue.record("\(outcome)")
                return
            }
            #expect(event.transition.status == .cancelled && event.transition.reason == "not wanted any more")
            #expect(try subject.status(id) == .cancelled)
        case .queued, .sent:
            guard case .requested(let effects) = outcome, let row = effects.requests.first else {
                Issue.record("\(outcome)")
                return
            }
            #expect(row.id == id && row.claim == 1)
            #expect(try subject.status(id) == status)
            #expect(try subject.store.cancellationRequests(shard: id.shard(of: 4)).map(\.id) == [id])
        case .tooManyTimes:
            guard case .cancelled(let effects) = outcome, let reason = effects.events.first?.transition.reason else {
                Issue.record("\(outcome)")
                return
            }
            #expect(reason.hasPrefix("not wanted any more, after it was given up"), "\(reason)")
            #expect(try subject.status(id) == .cancelled && subject.store.command(id)?.reason == reason)
            #expect(try subject.store.cancel(id, reason: "again", now: .base) == .ended(.cancelled))
        case .success, .cancelled: #expect(outcome == .ended(status))
        }
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.allCases)
    func `a cancellation of many commands puts none away`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.make(.tooManyTimes)
        _ = try subject.store.cancel([id], shard: id.shard(of: 4), reason: "unreachable", now: .base)
        #expect(try subject.status(id) == .tooManyTimes)
    }

    @Test(arguments: StoreKind.allCases)
    func `a cancellation request keeps bytes from leaving and ends the command at its next end or release`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind)
        let queued = try subject.make(.queued)
        _ = try subject.store.cancel(queued, reason: "stop", now: .base)
        #expect(try subject.apply(.sent(queued, claim: 1)) == .refused)
        try subject.apply(.end(queued, claim: 1, .cancelled(reason: "stop")))
        #expect(try subject.status(queued) == .cancelled)

        let released = try subject.make(.sent)
        _ = try subject.store.cancel(released, reason: "stop", now: .base)
        try subject.apply(.end(released, claim: 1, .released(reason: "drained", ambiguous: true)))
        #expect(try subject.status(released) == .cancelled)
        #expect(try subject.store.command(released)?.reason?.contains("may have been delivered") == true)

        let won = try subject.make(.sent)
        _ = try subject.store.cancel(won, reason: "stop", now: .base)
        try subject.apply(.end(won, claim: 1, .success(result: nil)))
        #expect(try subject.status(won) == .success)
        #expect(try (0..<4).allSatisfy { try subject.store.cancellationRequests(shard: $0).isEmpty })
    }

    @Test(arguments: StoreKind.allCases, CommandStatus.allCases.filter { $0 != .blocked })
    func `a retry resets the command where the status allows it`(_ kind: StoreKind, _ status: CommandStatus) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.make(status)
        let event = try subject.store.retry(id, now: .base + .seconds(5))?.events.first
        let may: Set<CommandStatus> = [.error, .cancelled, .tooManyTimes]
        #expect((event != nil) == may.contains(status))
        guard let event else {
            #expect(try subject.status(id) == status)
            return
        }
        #expect(event.transition.status == .new)
        let command = try #require(try subject.store.command(id))
        #expect(command.status == .new && command.retries == 0 && command.notBefore == .zero && command.crashes == 0)
        // A sync tells a retry by a person from one by itself by this.
        #expect(command.reason == nil)
        #expect(try subject.claim(id) != nil)
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.allCases)
    func `a retry drops a passed deadline, and keeps a future one and the offset`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let ids = try subject.submit([
            .noop.with { $0.deadline = .base + .seconds(10) }, .noop.with { $0.deadline = .base + .seconds(1000) },
        ])
        try subject.open()
        for id in ids {
            try subject.claim(id)
            try subject.apply(.offset(id, claim: 1, offset: 5, total: 10))
            try subject.apply(.end(id, claim: 1, .cancelled(reason: "no")))
            _ = try subject.store.retry(id, now: .base + .seconds(20))
        }
        #expect(try subject.store.command(ids[0])?.deadline == nil)
        #expect(try subject.store.command(ids[1])?.deadline == .base + .seconds(1000))
        #expect(try subject.store.command(ids[0])?.offset == 5)
        let expiry = try subject.store.expire(shard: 0, now: .base + .seconds(30), limit: 10)
        #expect(expiry.effects.isEmpty && expiry.next == .base + .seconds(1000))
    }

    @Test(arguments: StoreKind.allCases, [CommandStatus.success, .new, .cancelled])
    func `a person settles a command in doubt`(_ kind: StoreKind, _ status: CommandStatus) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.make(.inDoubt)
        #expect(try subject.store.resolve(id, as: .error, now: .base) == nil)
        #expect(try subject.store.resolve(id, as: status, now: .base)?.events.map(\.transition.status) == [status])
        #expect(try subject.status(id) == status)
        #expect(try subject.store.resolve(id, as: status, now: .base) == nil)
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.allCases)
    func `a change is made only while the newest transition is the expected one`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        func expect(
            _ status: CommandStatus, _ name: String, _ change: (CommandID, Int64) throws -> Bool
        ) throws {
            let id = try subject.make(status)
            let newest = try #require(try subject.store.timeline(id).last?.seq)
            for other in [newest - 1, newest + 1] {
                #expect(try !change(id, other), "\(name)")
                #expect(try subject.store.timeline(id).last?.seq == newest, "\(name)")
            }
            #expect(try change(id, newest), "\(name)")
        }
        let store = subject.store
        try expect(.new, "cancel") { id, newest in
            try store.cancel(id, ifNewest: newest, reason: "no", now: .base) != .outdated
        }
        try expect(.sent, "request") { id, newest in
            try store.cancel(id, ifNewest: newest, reason: "no", now: .base) != .outdated
        }
        try expect(.cancelled, "retry") { try store.retry($0, ifNewest: $1, by: "a person", now: .base) != nil }
        try expect(.inDoubt, "resolve") { id, newest in
            try store.resolve(id, ifNewest: newest, as: .success, by: "a person", now: .base) != nil
        }
        try expect(.new, "requalify") { try store.requalify($0, ifNewest: $1, qos: .background, now: .base) }
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.allCases)
    func `a requalified command moves to another queue`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let id = try subject.submit()
        #expect(try subject.store.requalify(id, qos: .userInteractive, now: .base))
        #expect(try subject.store.readyKeys(shard: 0) == [ReadyKey(destination: .none, qos: .userInteractive)])
        #expect(try subject.store.counts()[.new, .userInteractive] == 1)
        let done = try subject.make(.success)
        #expect(try !subject.store.requalify(done, qos: .background, now: .base))
        #expect(try subject.countsAreTrue())
    }

    /// These hold a command when its deadline passes: a circuit breaker, an unreachable link, a pause or a limit (told by the
    /// coordinator), its own last failure, a parent or an ordering key.
    @Test(arguments: StoreKind.current)
    func `the reason of a passed deadline has the cause that held the command`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        func draft(_ change: (inout CommandDraft) -> Void) -> CommandDraft {
            CommandDraft.noop.with {
                $0.deadline = .base + .seconds(10)
                change(&$0)
            }
        }
        let refused = try subject.submit(draft { $0.destination = .test("a") })
        let held = try subject.submit(draft { $0.destination = .test("b") })
        let parent = try subject.submit()
        let blocked = try subject.submit(draft { $0.dependencies = [Dependency(on: parent)] })
        try subject.open()
        try subject.claim(refused)
        let failure = CommandFailure(.destination, reason: "the certificate of a has expired")
        try subject.apply(.end(refused, claim: 1, .failure(failure)))
        let late = Timestamp.base + .seconds(10)
        let queues = try subject.store.passedDeadlines(shard: 0, now: late, limit: 10)
        #expect(
            queues
                == Set(
                    ["a", "b"].map { ReadyKey(destination: .test($0), qos: .default) } + [
                        ReadyKey(destination: .none, qos: .default)
                    ]))
        #expect(try subject.store.passedDeadlines(shard: 0, now: late + .seconds(-1), limit: 10).isEmpty)
        let causes = [ReadyKey(destination: .test("b"), qos: .default): "it was paused"]
        _ = try subject.store.expire(shard: 0, now: late, limit: 10, causes: causes)
        let reasons = try [refused, held, blocked].map { try subject.store.command($0)?.reason }
        #expect(
            reasons == [
                "its deadline passed; the certificate of a has expired", "its deadline passed; it was paused",
                "its deadline passed; it waited for other commands",
            ])
    }

    @Test(arguments: StoreKind.allCases)
    func `a passed deadline cancels a waiting command and requests the cancellation of a running one`(_ kind: StoreKind)
        throws
    {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let draft = CommandDraft.noop.with { $0.deadline = .base + .seconds(10) }
        let (waiting, running, done) = (try subject.submit(draft), try subject.submit(draft), try subject.submit(draft))
        let later = try subject.submit(.noop.with { $0.deadline = .base + .seconds(100) })
        try subject.open()
        try subject.claim(running)
        try subject.claim(done)
        try subject.apply(.end(done, claim: 1, .success(result: nil)))
        let early = try subject.store.expire(shard: 0, now: .base + .seconds(9), limit: 10)
        #expect(early.effects.isEmpty && early.next == .base + .seconds(10))
        let expiry = try subject.store.expire(shard: 0, now: .base + .seconds(10), limit: 10)
        #expect(expiry.effects.events.map(\.transition.id) == [waiting])
        #expect(expiry.effects.requests.map(\.id) == [running])
        #expect(expiry.next == .base + .seconds(100))
        #expect(try subject.status(waiting) == .cancelled)
        #expect(try subject.store.command(waiting)?.reason == "its deadline passed")
        #expect(try subject.store.cancellationRequests(shard: 0).map(\.id) == [running])
        #expect(try subject.claim(later, now: .base + .seconds(100)) == nil)
        #expect(try subject.status(done) == .success)
        #expect(try subject.countsAreTrue())
    }
}
