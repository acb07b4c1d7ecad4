import Commands
import Store
import TestSupport
import Testing

/// Commits of the writes to several shards: with the groups of each store, and with larger ones.
@Suite(.postgreSQLServer) struct CommitGroupConformance {
    private struct Rig {
        let shards: ShardRig
        let store: any ExecutionStore & UploadStore

        /// - Parameter shardsPerGroup: nil: as many as the store itself has in a group.
        init(_ kind: StoreKind, _ shardsPerGroup: Int?) throws {
            shards = try ShardRig(kind)
            if let shardsPerGroup {
                store = GroupedStore(shards.store, shardsPerGroup: shardsPerGroup)
            } else {
                store = shards.store
            }
        }

        func shard(of id: CommandID) -> Int { id.shard(of: ShardRig.shardCount) }

        /// Submits commands to each shard. Those of one shard are not next to each other.
        func submit(_ count: Int) throws -> [CommandID] {
            try (0..<count * ShardRig.shardCount).map { try shards.submit(to: $0 % ShardRig.shardCount) }
        }

        func commit(_ writes: [ExecutionWrite], _ group: CommitGroup) throws -> CommitOutcome {
            try store.apply(
                { writes }, group: group, seat: StoreUnderTest.seat, epoch: StoreUnderTest.epoch,
                CommitAttempt(timeout: .seconds(1)))
        }
    }

    private static let sizes: [Int?] = [nil, 2, 4]

    @Test(arguments: StoreKind.allCases, sizes)
    func `each shard is in one commit group, and the groups are in the order of their shards`(
        _ kind: StoreKind, _ size: Int?
    ) throws {
        let store = try Rig(kind, size).store
        let groups = store.commitGroups
        #expect(groups.flatMap { Array($0.shards) } == Array(0..<ShardRig.shardCount))
        #expect(groups.map(\.index) == Array(groups.indices))
        if let size { #expect(groups.count == ShardRig.shardCount / size) }
        for shard in 0..<ShardRig.shardCount {
            let group = store.commitGroup(of: shard)
            #expect(group.shards.contains(shard) && groups[group.index] == group)
        }
    }

    @Test(arguments: StoreKind.allCases, sizes)
    func `the outcomes of a commit are in the order of its writes, and a refused write affects no other`(
        _ kind: StoreKind, _ size: Int?
    ) throws {
        let rig = try Rig(kind, size)
        let ids = try rig.submit(3)
        for group in rig.store.commitGroups {
            let own = ids.filter { group.shards.contains(rig.shard(of: $0)) }
            var writes = own.map { ExecutionWrite.claim($0, sent: false) }
            writes.append(.claim(own[1], sent: true))
            for id in own {
                writes.append(.sent(id, claim: 1))
                writes.append(.end(id, claim: 2, .success(result: nil)))
            }
            writes += own.map { .end($0, claim: 1, .success(result: nil)) }
            let outcome = try rig.commit(writes, group)
            #expect(outcome.count == writes.count && outcome.effects.isEmpty)
            var claimed: Set<CommandID> = []
            for (write, outcome) in zip(writes, outcome) {
                switch (write, outcome) {
                case (.claim(let id, _, _), .claimed(let command, _, _, _)):
                    #expect(command.id == id && !claimed.contains(id))
                    claimed.insert(id)
                case (.claim(let id, _, _), .refused): #expect(claimed.contains(id))
                case (.sent(let id, _), .done(let transitions, _)):
                    #expect(transitions.map(\.id) == [id] && transitions.map(\.status) == [.sent])
                case (.end(let id, 1, _), .done(let transitions, _)):
                    #expect(transitions.map(\.id) == [id] && transitions.map(\.status) == [.success])
                case (.end(_, 2, _), .replaced): break
                default: Issue.record("the outcome of \(write) is \(outcome)")
                }
            }
            #expect(claimed == Set(own))
        }
        #expect(try rig.shards.store.counts()[.success] == ids.count)
        #expect(try rig.shards.subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.current, sizes)
    func `the effects of a commit name their shards`(_ kind: StoreKind, _ size: Int?) throws {
        let rig = try Rig(kind, size)
        let parents = try rig.submit(2)
        let children = try parents.map { try rig.shards.submit(to: rig.shard(of: $0), after: [Dependency(on: $0)]) }
        for parent in parents { #expect(try rig.shards.subject.claim(parent) == 1) }
        for group in rig.store.commitGroups {
            func own(_ ids: [CommandID]) -> [CommandID] { ids.filter { group.shards.contains(rig.shard(of: $0)) } }
            let ends = own(parents).reversed().map { ExecutionWrite.end($0, claim: 1, .success(result: nil)) }
            let effects = try rig.commit(ends, group).effects
            #expect(Set(effects.ready.map(\.id)) == Set(own(children)) && !effects.hasMore)
            #expect(Set(effects.events.map(\.transition.id)) == Set(own(children)))
            #expect(effects.events.allSatisfy { $0.shard == rig.shard(of: $0.transition.id) })
            for shard in group.shards {
                let numbers = effects.events.filter { $0.shard == shard }.map(\.transition.seq)
                #expect(numbers.count == 2 && numbers == numbers.sorted())
            }
        }
        try rig.shards.check()
    }

    @Test(arguments: StoreKind.current, sizes)
    func `the results of changes of uploads are in their order, and a failed change affects no other`(
        _ kind: StoreKind, _ size: Int?
    ) throws {
        let rig = try Rig(kind, size)
        let unknown = CommandDraft(type: "unknown", payload: [123, 125], destination: .none, idempotent: true)
        for group in rig.store.commitGroups {
            // Two of each shard, which are not next to each other.
            let ids = (Array(group.shards) + Array(group.shards)).map {
                CommandID(now: .base, shardByte: UInt8($0))
            }
            var writes = ids.map { id in
                UploadWrite.create(
                    Upload(id: id, length: 100, facts: UploadFacts(origin: .plain), createdAt: .base))
            }
            for (index, id) in ids.enumerated() {
                writes.append(.complete(id, length: 100, .command(index == 1 ? unknown : .noop), due: nil))
            }
            let results = try rig.store.apply(writes, group: group, isRepetition: false)
            #expect(results.count == 2 * ids.count)
            #expect(results.prefix(ids.count).map { try? $0.get().upload?.id } == ids)
            for (index, result) in results.dropFirst(ids.count).enumerated() {
                let change = try? result.get()
                #expect(change?.ready == (index == 1 ? nil : [ids[index]]), "\(index)")
            }
        }
        #expect(try rig.shards.subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.current)
    func `a store whose shards commit alone refuses a commit for several`(_ kind: StoreKind) throws {
        let rig = try Rig(kind, nil)
        let group = CommitGroup(0, shards: 0..<2)
        let execution = #expect(throws: StoreError.self) { try rig.commit([], group) }
        #expect(execution?.code == .invalid)
        let upload = #expect(throws: StoreError.self) { try rig.store.apply([], group: group, isRepetition: false) }
        #expect(upload?.code == .invalid)
    }
}
