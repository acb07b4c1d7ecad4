import Commands
import Store
import TestSupport
import Testing

/// Batches: members in all shards, counted where they end.
@Suite(.postgreSQLServer) struct BatchConformance {
    private static func open(_ rig: ShardRig, then conditions: [DependencyCondition] = []) throws -> CommandID {
        var draft = BatchDraft("import")
        draft.callbacks = conditions.map { .init(on: $0, .noop) }
        return try rig.store.open(draft, allowUnknownTypes: false, now: .base)
    }

    private static func add(_ count: Int, to batch: CommandID, _ rig: ShardRig) throws -> [CommandID] {
        try rig.subject.submit(.init(repeating: .noop.with { $0.batch = batch }, count: count))
    }

    private static func callbacks(_ rig: ShardRig, _ batch: CommandID) throws -> [CommandStatus] {
        var found: [CommandStatus] = []
        var after: CommandID?
        while true {
            let page = try rig.store.list(CommandFilter(), after: after, limit: 1000)
            guard let last = page.last else { return found }
            after = last.id
            found += page.filter { $0.id != batch && $0.batch == nil }.map(\.status)
        }
    }

    @Test(arguments: StoreKind.current)
    func `a batch ends with the last member of all shards, once it is sealed`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let batch = try Self.open(rig, then: [.success])
        // A store may give a bulk to one shard, or one submit after the other.
        let members = try Self.add(40, to: batch, rig) + (0..<40).flatMap { _ in try Self.add(1, to: batch, rig) }
        #expect(Set(members.map { $0.shard(of: 4) }) == [0, 1, 2, 3])
        for member in members { try rig.end(member) }
        try rig.carry()
        // More may come.
        #expect(try rig.subject.status(batch) == .blocked)
        #expect(try #require(try rig.store.batch(batch)).isSealed == false)
        let late = try Self.add(1, to: batch, rig)
        try rig.store.seal(batch, now: .base)
        try rig.carry()
        let state = try #require(try rig.store.batch(batch))
        #expect(state.isSealed && state.members == 81 && state.open == 1 && state.failed == 0 && state.name == "import")
        #expect(try Self.callbacks(rig, batch) == [.blocked])
        try rig.end(late[0])
        try rig.carry()
        #expect(try rig.subject.statuses(batch) == [.blocked, .success])
        #expect(try Self.callbacks(rig, batch) == [.new])
        #expect(try #require(try rig.store.batch(batch)).members == 81)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `open batches are listed newest first, until no shard counts members`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let batches = try (0..<3).map { _ in try Self.open(rig) }.sorted(by: >)
        for shard in 0..<4 {
            #expect(try rig.store.openBatches(shard: shard, limit: 10) == batches)
            #expect(try rig.store.openBatches(shard: shard, limit: 2) == Array(batches.prefix(2)))
        }
        let member = try Self.add(1, to: batches[1], rig)[0]
        for batch in batches { try rig.store.seal(batch, now: .base) }
        try rig.carry()
        for shard in 0..<4 {
            let open = try rig.store.openBatches(shard: shard, limit: 10)
            #expect(open == (shard == member.shard(of: 4) ? [batches[1]] : []))
        }
        try rig.end(member)
        #expect(try (0..<4).flatMap { try rig.store.openBatches(shard: $0, limit: 10) }.isEmpty)
    }

    @Test(arguments: StoreKind.current)
    func `a batch keeps its counts and its end where a member that it counted is put away`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let batch = try Self.open(rig, then: [.failure])
        let members = try Self.add(8, to: batch, rig)
        try rig.store.seal(batch, now: .base)
        try rig.end(members[0], ShardRig.failure)
        try rig.end(members[1], ShardRig.failure)
        try rig.carry()
        func putAway(_ member: CommandID) throws {
            guard case .cancelled = try rig.store.cancel(member, reason: "not wanted", now: .base) else {
                Issue.record("it was not put away")
                return
            }
            try rig.carry()
            try rig.check()
        }
        // While the batch runs, and after its end.
        try putAway(members[0])
        let open = try #require(try rig.store.batch(batch))
        #expect(open.members == 8 && open.open == 6 && open.failed == 2, "\(open)")
        for member in members.dropFirst(2) { try rig.end(member) }
        try rig.carry()
        #expect(try rig.subject.status(batch) == .tooManyTimes)
        let ended = try #require(try rig.store.batch(batch))
        try putAway(members[1])
        #expect(try rig.subject.status(batch) == .tooManyTimes)
        let after = try #require(try rig.store.batch(batch))
        #expect(after.members == 8 && after.open == 0 && after.failed == 2, "\(after)")
        #expect(after.command == ended.command)
        #expect(try Self.callbacks(rig, batch) == [.new])
    }

    @Test(arguments: StoreKind.current)
    func `a failed member fails the batch, and its failure callback runs`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let batch = try Self.open(rig, then: [.failure])
        let members = try Self.add(8, to: batch, rig)
        try rig.store.seal(batch, now: .base)
        for member in members.dropFirst(2) { try rig.end(member) }
        try rig.end(members[0], ShardRig.failure)
        _ = try rig.store.cancel(members[1], reason: "no", now: .base)
        try rig.carry()
        let command = try #require(try rig.store.command(batch))
        #expect(command.status == .tooManyTimes && command.reason == "2 of 8 members failed")
        #expect(try Self.callbacks(rig, batch) == [.new])
        // One of the two is retried.
        _ = try rig.store.retry(members[0], now: .base)
        try rig.carry()
        #expect(try rig.subject.status(batch) == .blocked)
        try rig.end(members[0])
        try rig.carry()
        let again = try #require(try rig.store.command(batch))
        #expect(again.status == .tooManyTimes && again.reason == "1 of 8 members failed")
        #expect(try rig.store.retry(batch, now: .base) == nil)
        try rig.check()
    }

    /// Holds as well where the batch was cancelled, where the members lie in several shards, where the part has not told its
    /// end yet, and where its messages are received twice or together with the next end.
    @Test(arguments: StoreKind.current)
    func `a batch waits again for a member that is retried, and each callback comes once`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let batch = try Self.open(rig, then: [.success, .failure])
        let members = try Self.add(16, to: batch, rig)
        try rig.store.seal(batch, now: .base)
        let (dead, others) = (members.prefix(9), members.dropFirst(9))
        for member in dead { try rig.end(member, ShardRig.failure) }
        for member in others { try rig.end(member) }
        try rig.carry()
        #expect(try rig.store.command(batch)?.reason == "9 of 16 members failed")
        #expect(try Self.callbacks(rig, batch).sorted { $0.rawValue < $1.rawValue } == [.new, .cancelled])
        for member in dead.prefix(5) { _ = try rig.store.retry(member, now: .base) }
        try rig.carry()
        let state = try #require(try rig.store.batch(batch))
        #expect(state.command.status == .blocked && state.members == 16 && state.open == 5 && state.failed == 4)
        for member in dead.prefix(5) { try rig.end(member) }
        // The retries and the ends of the rest go in one page.
        for member in dead.dropFirst(5) {
            _ = try rig.store.retry(member, now: .base)
            try rig.end(member)
        }
        for shard in 0..<ShardRig.shardCount {
            let page = try rig.store.outbox(shard: shard, after: 0, limit: 1000)
            _ = try rig.store.receive(page, shard: batch.shard(of: ShardRig.shardCount), now: .base)
        }
        try rig.carry()
        let end = try #require(try rig.store.batch(batch))
        #expect(end.command.status == .success && end.command.reason == nil)
        #expect(end.members == 16 && end.open == 0 && end.failed == 0)
        // The failure callback, which came before, and the one of the success.
        #expect(try Self.callbacks(rig, batch) == [.new, .new])
        #expect(try rig.subject.statuses(batch).filter { $0 == .success }.count == 1)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a cancelled batch waits again for a member that is retried`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let batch = try Self.open(rig)
        let members = try Self.add(3, to: batch, rig)
        _ = try rig.store.cancel(batch, reason: "no", now: .base)
        try rig.carry()
        #expect(try rig.subject.status(batch) == .cancelled)
        for member in members { _ = try rig.store.retry(member, now: .base) }
        try rig.carry()
        #expect(try rig.subject.status(batch) == .blocked)
        for member in members { try rig.end(member) }
        try rig.carry()
        #expect(try rig.subject.status(batch) == .success)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a member that is retried before the end counts once`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let batch = try Self.open(rig)
        let members = try Self.add(2, to: batch, rig)
        try rig.end(members[0], ShardRig.failure)
        #expect(try #require(try rig.store.batch(batch)).failed == 1)
        _ = try rig.store.retry(members[0], now: .base)
        #expect(try #require(try rig.store.batch(batch)).failed == 0)
        try rig.store.seal(batch, now: .base)
        for member in members { try rig.end(member) }
        try rig.carry()
        #expect(try rig.subject.status(batch) == .success)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a sealed or cancelled batch takes no members, and an unknown one is refused`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let (sealed, cancelled) = (try Self.open(rig), try Self.open(rig))
        try rig.store.seal(sealed, now: .base)
        let early = #expect(throws: StoreError.self) { try Self.add(1, to: sealed, rig) }
        #expect(early?.message.contains("is sealed") == true)
        _ = try rig.store.cancel(cancelled, reason: "no", now: .base)
        try rig.carry()
        for batch in [sealed, cancelled, CommandID()] {
            let error = #expect(throws: StoreError.self) { try Self.add(1, to: batch, rig) }
            #expect(error?.message.contains("it has ended, or there is no such batch") == true)
        }
        #expect(try rig.subject.statuses(sealed) == [.blocked, .success], "an empty batch is a success")
        #expect(throws: StoreError.self) { try rig.store.seal(CommandID(), now: .base) }
        // A command of another type.
        let id = try rig.subject.submit()
        #expect(throws: StoreError.self) { try rig.store.seal(id, now: .base) }
        #expect(try rig.store.batch(id) == nil)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `the cancellation of a batch reaches its members in all shards`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let batch = try Self.open(rig, then: [.end])
        let members = try Self.add(2000, to: batch, rig)
        try rig.subject.claim(members[0])
        guard case .requested = try rig.store.cancel(batch, reason: "no", now: .base) else {
            throw Missed("the batch is cancelled before its members")
        }
        let effects = try rig.carry()
        #expect(effects.requests.map(\.id) == [members[0]])
        for member in members.dropFirst() { #expect(try rig.subject.status(member) == .cancelled) }
        #expect(try rig.subject.status(batch) == .blocked)
        #expect(throws: StoreError.self) { try Self.add(1, to: batch, rig) }
        try rig.subject.apply(.end(members[0], claim: 1, .cancelled(reason: "no")))
        try rig.carry()
        #expect(try rig.subject.status(batch) == .cancelled)
        #expect(try Self.callbacks(rig, batch) == [.new])
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `members and their batch are pruned, and nothing of them stays`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let batch = try Self.open(rig)
        for member in try Self.add(20, to: batch, rig) { try rig.end(member) }
        // Members may go before their batch has ended.
        for shard in 0..<4 {
            _ = try rig.store.prune(shard: shard, before: .base + .seconds(100), statuses: [.success], limit: 100)
        }
        try rig.store.seal(batch, now: .base)
        try rig.carry()
        #expect(try rig.subject.status(batch) == .success)
        for shard in 0..<4 {
            _ = try rig.store.prune(shard: shard, before: .base + .seconds(200), statuses: [.success], limit: 100)
        }
        #expect(try rig.store.list(CommandFilter(), after: nil, limit: 10).isEmpty)
        #expect(try rig.store.batch(batch) == nil)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a command of any shard waits for a batch`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let batch = try Self.open(rig)
        let children = try (0..<4).map { try rig.submit(to: $0, after: [Dependency(on: batch)]) }
        let members = try Self.add(4, to: batch, rig)
        try rig.store.seal(batch, now: .base)
        for member in members { try rig.end(member) }
        try rig.carry()
        for child in children { #expect(try rig.subject.status(child) == .new) }
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `random steps keep the counts of batches right`(_ kind: StoreKind) throws {
        var random = SeededRandom.announced("batches")
        for _ in RandomRounds("batches", 2...10, within: .seconds(3)) {
            let rig = try ShardRig(kind)
            let batches = try (0..<2).map { _ in try Self.open(rig, then: [.end]) }
            var members: [CommandID] = []
            for _ in 0..<120 {
                let batch = batches[random.number(in: 0..<2)]
                switch random.number(in: 0..<10) {
                case 0...3:
                    let drafts = [CommandDraft](
                        repeating: .noop.with { $0.batch = batch }, count: random.number(in: 1..<5))
                    for result in rig.store.submit(drafts, allowUnknownTypes: false, now: .base) {
                        if case .success(let submission) = result { members.append(submission.id) }
                    }
                case 4...6:
                    guard !members.isEmpty else { continue }
                    let id = members[random.number(in: 0..<members.count)]
                    if let claim = try rig.subject.claim(id) {
                        let result = random.chance(0.7) ? ExecutionResult.success(result: nil) : ShardRig.failure
                        try rig.subject.apply(.end(id, claim: claim, result))
                    }
                case 7:
                    guard !members.isEmpty else { continue }
                    _ = try rig.store.retry(members[random.number(in: 0..<members.count)], now: .base)
                case 8:
                    // As where the coordinator dies between a receipt and the removal.
                    for shard in 0..<4 where random.chance(0.3) {
                        let page = try rig.store.outbox(shard: shard, after: 0, limit: 1000)
                        for (target, messages) in Dictionary(grouping: page, by: { $0.receiver.shard(of: 4) }) {
                            _ = try rig.store.receive(messages, shard: target, now: .base)
                        }
                    }
                    try rig.carry(except: [random.number(in: 0..<4)])
                default:
                    if random.chance(0.1) { _ = try rig.store.cancel(batch, reason: "no", now: .base) }
                    if random.chance(0.1) { try rig.store.seal(batch, now: .base) }
                }
                try rig.check()
            }
            for batch in batches { try rig.store.seal(batch, now: .base) }
            for member in members {
                if let claim = try rig.subject.claim(member) {
                    try rig.subject.apply(.end(member, claim: claim, .success(result: nil)))
                }
            }
            try rig.carry()
            for batch in batches {
                let state = try #require(try rig.store.batch(batch))
                #expect(state.command.status.isFinal && state.open == 0 && state.isSealed, "\(state)")
                let own = try members.compactMap { try rig.store.command($0) }.filter { $0.batch == batch }
                #expect(state.members == own.count, "\(state)")
                #expect(state.failed == own.count { $0.status != .success }, "\(state)")
            }
            try rig.check()
        }
    }
}
