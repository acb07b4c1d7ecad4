import Commands
import Store
import TestSupport
import Testing

@Suite(.postgreSQLServer) struct DeathConformance {
    private static func reap(
        _ subject: StoreUnderTest, epoch: Int64 = StoreUnderTest.epoch, charges: Bool = true,
        started: StartedExecutions? = nil
    ) throws -> [StatusEvent] {
        var events: [StatusEvent] = []
        var ready: [ReadyCommand] = []
        try subject.store.reap(
            seat: StoreUnderTest.seat, epoch: epoch, charges: charges, started: started, reason: "the worker died",
            now: .base + .seconds(9)
        ) { effects in
            events += effects.events
            ready += effects.ready
        }
        // The reap reports exactly the commands that are ready afterwards.
        let told = Set(ready.map(\.id))
        for event in events {
            let id = event.transition.id
            let offered = try subject.store.ready(shard: id.shard(of: subject.store.shardCount), ids: [id])
            #expect(offered.isEmpty == !told.contains(id))
        }
        return events
    }

    @Test(arguments: StoreKind.allCases)
    func `a reap releases the commands of the dead worker and deletes its session`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let ids = try subject.submit([CommandDraft](repeating: .noop, count: 12))
        let other = try subject.submit()
        try subject.open()
        try subject.open(seat: 2, epoch: 7)
        for (index, id) in ids.enumerated() { try subject.claim(id, sent: index.isMultiple(of: 2)) }
        try subject.claim(other, seat: 2, epoch: 7)
        let events = try Self.reap(subject, charges: false)
        #expect(Set(events.map(\.transition.id)) == Set(ids))
        #expect(events.allSatisfy { $0.transition.status == .new && $0.transition.reason == "the worker died" })
        #expect(try subject.store.sessions().map(\.seat) == [2])
        for id in ids {
            let command = try #require(try subject.store.command(id))
            #expect(command.status == .new && !command.suspect && command.crashes == 0 && command.retries == 0)
        }
        #expect(try subject.status(other) == .sent)
        #expect(try subject.claim(ids[0]) == nil)
        #expect(try Self.reap(subject).isEmpty)
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.allCases)
    func `a reaped command that may have been sent and is not idempotent is in doubt`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let draft = CommandDraft.noop.with { $0.idempotent = false }
        let (queued, sent) = (try subject.submit(draft), try subject.submit(draft))
        try subject.open()
        try subject.claim(queued, sent: false)
        try subject.claim(sent)
        _ = try Self.reap(subject)
        #expect(try subject.status(queued) == .new)
        #expect(try subject.status(sent) == .inDoubt)
    }

    @Test(arguments: StoreKind.allCases)
    func `a reaped command with a cancellation request is cancelled`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.make(.sent)
        _ = try subject.store.cancel(id, reason: "stop", now: .base)
        _ = try Self.reap(subject)
        #expect(try subject.status(id) == .cancelled)
    }

    @Test(arguments: StoreKind.allCases)
    func `without a suspect all executing commands become suspects, uncharged`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let ids = try subject.submit([CommandDraft](repeating: .noop, count: 5))
        try subject.open()
        for id in ids { try subject.claim(id) }
        _ = try Self.reap(subject)
        for id in ids {
            let command = try #require(try subject.store.command(id))
            #expect(command.suspect && command.crashes == 0)
            #expect(try subject.store.ready(shard: id.shard(of: 4), ids: [id]).first?.suspect == true)
        }
    }

    /// It lives long enough for other suspects to start beside it.
    @Test(arguments: StoreKind.allCases)
    func `a command that kills its workers late is given up alone, and no command beside it is charged`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind)
        let poisonous = try subject.submit()
        let innocent = try subject.submit([CommandDraft](repeating: .noop, count: 6))
        let all = [poisonous] + innocent
        func state(_ id: CommandID) throws -> Command { try #require(try subject.store.command(id)) }
        for epoch in Int64(1)...2 {
            try subject.open(epoch: epoch)
            for id in all { try subject.claim(id, epoch: epoch, now: .base + .seconds(60)) }
            _ = try Self.reap(subject, epoch: epoch)
            for id in all {
                #expect(try state(id).suspect && state(id).crashes == 0 && state(id).isSoleSuspect == (epoch == 2))
                let ready = try subject.store.ready(shard: id.shard(of: 4), ids: [id]).first
                #expect(ready?.suspect == true && ready?.isSoleSuspect == (epoch == 2))
            }
        }
        // From now on each of them is the only suspect of its worker. A death beside other commands says nothing of them.
        for death in Int64(1)...5 {
            try subject.open(epoch: 2 + death)
            #expect(try state(poisonous).isSoleSuspect && state(poisonous).crashes == Int(death) - 1)
            let shard = poisonous.shard(of: subject.store.shardCount)
            _ = try subject.store.promoteDue(shard: shard, now: .base + .seconds(60), limit: 10)
            try subject.claim(poisonous, epoch: 2 + death, now: .base + .seconds(60))
            _ = try Self.reap(subject, epoch: 2 + death)
        }
        #expect(try state(poisonous).status == .tooManyTimes && state(poisonous).crashes == 5)
        try subject.open(epoch: 9)
        for id in innocent {
            #expect(try state(id).crashes == 0)
            let claim = try #require(try subject.claim(id, epoch: 9, now: .base + .seconds(60)))
            try subject.apply(.end(id, claim: claim, .success(result: nil)), epoch: 9)
            #expect(try !state(id).suspect && !state(id).isSoleSuspect)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a suspect alone is charged, waits longer each time, and is given up after five deaths`(_ kind: StoreKind)
        throws
    {
        let subject = try StoreUnderTest(kind)
        let poisonous = try subject.submit()
        let innocent = try subject.submit([CommandDraft](repeating: .noop, count: 8))
        var deaths = 0
        while try subject.status(poisonous) != .tooManyTimes {
            let epoch = Int64(deaths + 1)
            try subject.open(epoch: epoch)
            if deaths > 1 {
                let wait = Duration.seconds(1 << (deaths - 1))
                let due = try #require(try subject.store.command(poisonous)).notBefore
                #expect(due == .base + .seconds(9) + wait)
                #expect(try subject.claim(poisonous, epoch: epoch, now: .base + .seconds(10)) == nil)
                let shard = poisonous.shard(of: subject.store.shardCount)
                #expect(try subject.store.promoteDue(shard: shard, now: due, limit: 10).ready.count == 1)
            }
            #expect(try subject.claim(poisonous, epoch: epoch, now: .base + .seconds(60)) == deaths + 1)
            // Other commands also ran at the first death; one of them has finished since.
            if deaths == 0 { for id in innocent { try subject.claim(id, epoch: epoch) } }
            if deaths == 1 {
                try subject.claim(innocent[0], epoch: epoch)
                try subject.apply(.end(innocent[0], claim: 2, .success(result: nil)), epoch: epoch)
            }
            _ = try Self.reap(subject, epoch: epoch)
            deaths += 1
            try #require(deaths < 10)
        }
        #expect(deaths == 6)
        let command = try #require(try subject.store.command(poisonous))
        #expect(command.crashes == 5)
        #expect(command.reason?.contains("5 workers died") == true)
        #expect(try subject.statuses(poisonous).suffix(2) == [.error, .tooManyTimes])
        #expect(try subject.store.command(innocent[0])?.suspect == false)
        for id in innocent { #expect(try subject.store.command(id)?.crashes == 0) }
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.allCases)
    func `a suspect that runs to its end is no longer a suspect`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.make(.sent)
        _ = try Self.reap(subject)
        try subject.open(epoch: 2)
        try subject.claim(id, epoch: 2)
        try subject.apply(.end(id, claim: 2, .failure(CommandFailure(.link, reason: "refused"))), epoch: 2)
        #expect(try subject.store.command(id)?.suspect == false)
    }

    @Test(arguments: StoreKind.allCases)
    func `a command that was only claimed is released, and neither suspected nor in doubt`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let post = CommandDraft.noop.with { $0.idempotent = false }
        let ids = try subject.submit([.noop, .noop, post, post])
        try subject.open()
        for id in ids { try subject.claim(id) }
        let events = try Self.reap(subject, started: .init(executing: [ids[0]], ended: [ids[2]]))
        #expect(events.count == 4)
        #expect(try ids.map { try subject.store.command($0)?.status } == [.new, .new, .inDoubt, .new])
        #expect(try ids.map { try subject.store.command($0)?.suspect }.prefix(2) == [true, false])
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.allCases)
    func `a suspect that had not started is not charged, and the commands that had become suspects`(_ kind: StoreKind)
        throws
    {
        let subject = try StoreUnderTest(kind)
        let ids = try subject.submit([.noop, .noop])
        try subject.open()
        try subject.claim(ids[0])
        _ = try Self.reap(subject)
        try subject.open(epoch: 2)
        for id in ids { try subject.claim(id, epoch: 2) }
        _ = try Self.reap(subject, epoch: 2, started: .init(executing: [ids[1]]))
        #expect(try ids.map { try subject.store.command($0)?.crashes } == [0, 0])
        #expect(try ids.map { try subject.store.command($0)?.suspect } == [true, true])
    }
}
