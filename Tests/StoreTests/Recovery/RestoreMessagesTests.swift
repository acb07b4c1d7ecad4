import Commands
import Foundation
import Host
import TestSupport
import Testing

@testable import Store

/// A restore replaces shards by files of another moment than the rest, so the shards must tell each other again what they
/// owe: the ends of parents, of the members of batches, cancellations and seals.
///
/// Looked for other instances: flows (their nodes share a shard), schedules (they share the shard of what they fire),
/// ordering and unique keys (of one shard) owe nothing across shards.
@Suite struct RestoreMessagesTests {
    /// When the backup was made.
    enum Moment: CaseIterable {
        case beforeAll, submitted, asked, ended, told, after
    }

    private let rig: RecoveryRig

    init() throws { rig = try RecoveryRig(shards: 4) }

    // MARK: Steps

    private func submit(
        _ store: SQLiteStore, to shard: Int, _ change: (inout CommandDraft) -> Void = { _ in }
    ) throws -> CommandID {
        for number in 0... {
            let draft = CommandDraft.noop.with { $0.uniqueKey = "key \(number) \(CommandID())" }.with(change)
            guard store.router.shard(of: draft) == shard else { continue }
            return try store.submit([draft], allowUnknownTypes: false)[0].get().id
        }
        throw Missed("no key leads to shard \(shard)")
    }

    private func carry(_ store: SQLiteStore) throws {
        while try (0..<4).contains(where: { try !store.outbox(shard: $0, after: 0, limit: 1).isEmpty }) {
            for shard in 0..<4 {
                if let problem = try store.carryMessages(from: shard, except: []).problem { throw problem }
                while try store.settle(shard: shard, limit: 100).hasMore {}
            }
        }
    }

    private func end(_ store: SQLiteStore, _ id: CommandID, _ result: ExecutionResult = .success(result: nil)) throws {
        let shard = id.shard(of: 4)
        let claimed = try store.apply(
            [.claim(id, sent: true)], shard: shard, seat: 1, epoch: 7, timeout: .seconds(1))
        guard case .claimed(let command, _, _, _) = claimed[0] else { throw Missed("\(id) cannot be claimed") }
        _ = try store.apply(
            [.end(id, claim: command.claim, result)], shard: shard, seat: 1, epoch: 7, timeout: .seconds(1))
    }

    /// Executes all that can run, until nothing can.
    private func runAll(_ store: SQLiteStore) throws {
        try store.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 1, bootID: ""))
        while true {
            try carry(store)
            let ready = try store.list(CommandFilter(), after: nil, limit: 1000).filter { $0.status == .new }
            if ready.isEmpty { return }
            for command in ready { try end(store, command.id) }
        }
    }

    private func check(_ store: SQLiteStore) throws {
        #expect(try store.debts() == ShardDebts())
        for shard in 0..<4 { #expect(try store.relationProblems(shard: shard).isEmpty) }
    }

    // MARK: Commands

    @Test(arguments: Moment.allCases, [0, 1, nil])
    func `a command that waits for one of another shard runs, whichever shard is restored`(
        _ moment: Moment, _ shard: Int?
    ) throws {
        let (parent, child) = try {
            let store = try rig.store()
            try store.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 1, bootID: ""))
            if moment == .beforeAll { try rig.back(up: store) }
            let parent = try submit(store, to: 0)
            let child = try submit(store, to: 1) { $0.dependencies = [Dependency(on: parent)] }
            if moment == .submitted { try rig.back(up: store) }
            try carry(store)
            if moment == .asked { try rig.back(up: store) }
            try end(store, parent)
            if moment == .ended { try rig.back(up: store) }
            try carry(store)
            if moment == .told { try rig.back(up: store) }
            try end(store, child)
            if moment == .after { try rig.back(up: store) }
            return (parent, child)
        }()
        try rig.restore(shard: shard)
        let store = try rig.store()
        try runAll(store)
        for id in [parent, child] {
            let isLost = moment == .beforeAll && (shard == nil || id.shard(of: 4) == shard)
            #expect(try store.command(id)?.status == (isLost ? nil : .success))
        }
        try check(store)
    }

    @Test func `the shards of a whole backup may be of two moments`() throws {
        let later = DataDirectory(path: "\(rig.fixture.directory.path)/later")
        let child = try {
            let store = try rig.store()
            try store.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 1, bootID: ""))
            let parent = try submit(store, to: 0)
            let child = try submit(store, to: 1) { $0.dependencies = [Dependency(on: parent)] }
            try carry(store)
            try rig.back(up: store)
            try end(store, parent)
            try carry(store)
            #expect(try store.backup(to: later.path) { _ in }.isEmpty)
            return child
        }()
        // A backup that took until the parent had ended and its child was told.
        let time = try SQLiteProbe(rig.backup.shard(0)).text("SELECT value FROM meta WHERE key = 'backup'")
        try FileManager.default.removeItem(atPath: rig.backup.shard(0))
        try FileManager.default.copyItem(atPath: later.shard(0), toPath: rig.backup.shard(0))
        do {
            let probe = try SQLiteProbe(rig.backup.shard(0))
            try probe.run("UPDATE meta SET value = \(time) WHERE key = 'backup'")
        }
        try rig.restore()
        let store = try rig.store()
        #expect(try store.command(child)?.status == .blocked)
        try runAll(store)
        #expect(try store.command(child)?.status == .success)
        try check(store)
    }

    @Test func `the shards of an adopted copy may be of two moments`() throws {
        let copy = DataDirectory(path: "\(rig.fixture.directory.path)/copy")
        let parent = try submit(rig.store(), to: 0)
        try FileManager.default.copyItem(atPath: rig.data.path, toPath: copy.path)
        let child = try {
            let store = try rig.store()
            let child = try submit(store, to: 1) { $0.dependencies = [Dependency(on: parent)] }
            try carry(store)
            return child
        }()
        // A copy that came to the shard of the child after the parent's shard had been asked.
        for ending in ["", "-wal", "-shm"] {
            let (from, to) = (rig.data.shard(1) + ending, copy.shard(1) + ending)
            try? FileManager.default.removeItem(atPath: to)
            if FileManager.default.fileExists(atPath: from) {
                try FileManager.default.copyItem(atPath: from, toPath: to)
            }
        }
        do { #expect(try Adoption(copy).run { _ in }.debts.debts.count == 1) }
        let store = try SQLiteStore(directory: copy, create: false)
        try runAll(store)
        #expect(try store.command(child)?.status == .success)
        try check(store)
    }

    @Test func `a parent that the restored shard does not have counts as failed`() throws {
        let (parent, children) = try {
            let store = try rig.store()
            try rig.back(up: store)
            let parent = try submit(store, to: 0)
            let children = try [DependencyCondition.success, .failure].map { condition in
                try submit(store, to: 1) { $0.dependencies = [Dependency(on: parent, condition)] }
            }
            try carry(store)
            return (parent, children)
        }()
        try rig.restore(shard: 0)
        let store = try rig.store()
        // They are named before they end.
        #expect(try store.debts().lostParents == Set(children.map { LostParent(child: $0, parent: parent) }))
        #expect(try store.debts().debts.isEmpty)
        try runAll(store)
        let cancelled = try #require(try store.command(children[0]))
        #expect(cancelled.status == .cancelled)
        #expect(cancelled.reason == "its parent is not in the restored shard: “\(parent)”")
        #expect(try store.command(children[1])?.status == .success)
        try check(store)
    }

    @Test func `the result of a parent comes again, for a payload that refers to it`() throws {
        let child = try {
            let store = try rig.store()
            try store.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 1, bootID: ""))
            let parent = try submit(store, to: 0)
            let child = try submit(store, to: 1) { draft in
                draft.payload = Array(#"{"url": {"$result": "\#(parent)/url"}}"#.utf8)
                draft.dependencies = [Dependency(on: parent)]
            }
            try carry(store)
            try rig.back(up: store)
            try end(store, parent, .success(result: Array("{\"url\": 1}".utf8)))
            try carry(store)
            return child
        }()
        try rig.restore(shard: 1)
        let store = try rig.store()
        try carry(store)
        #expect(try store.command(child)?.status == .new)
        let results = try store.parentResults(of: child, after: 0, limit: 10)
        #expect(results.map(\.result) == [Array("{\"url\": 1}".utf8)])
    }

    @Test func `a store that an earlier release restored is mended`() throws {
        let child = try {
            let store = try rig.store()
            try store.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 1, bootID: ""))
            let parent = try submit(store, to: 0)
            let child = try submit(store, to: 1) { $0.dependencies = [Dependency(on: parent)] }
            try carry(store)
            try end(store, parent)
            return child
        }()
        // The message is lost, as where shard 0 had sent it before the copy of shard 1 was put back.
        try SQLiteProbe(rig.data.shard(0)).run("DELETE FROM outbox")
        let store = try rig.store()
        let found = try store.debts()
        #expect(found.debts.map(\.kind) == [.question] && found.lostParents.isEmpty)
        try store.post(found)
        try check(store)
        try carry(store)
        #expect(try store.command(child)?.status == .new)
    }

    @Test func `messages on their way are not owed`() throws {
        let store = try rig.store()
        try store.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 1, bootID: ""))
        let parent = try submit(store, to: 0)
        _ = try submit(store, to: 1) { $0.dependencies = [Dependency(on: parent)] }
        let batch = try store.open(BatchDraft("import"), allowUnknownTypes: false)
        #expect(try store.debts().isEmpty)
        try carry(store)
        #expect(try store.debts().isEmpty)
        try end(store, parent)
        try store.seal(batch)
        #expect(try store.debts().isEmpty)
        try carry(store)
        #expect(try store.debts().isEmpty)
    }

    // MARK: Batches

    /// Moments of a batch.
    enum BatchMoment: CaseIterable {
        case beforeAll, open, filled, sealed, ended, told
    }

    @Test(arguments: BatchMoment.allCases, [true, false])
    func `a batch ends, whichever shard is restored`(_ moment: BatchMoment, _ isHome: Bool) throws {
        let batch = try {
            let store = try rig.store()
            try store.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 1, bootID: ""))
            if moment == .beforeAll { try rig.back(up: store) }
            let batch = try store.open(BatchDraft("import"), allowUnknownTypes: false)
            if moment == .open { try rig.back(up: store) }
            let drafts = [CommandDraft](repeating: .noop.with { $0.batch = batch }, count: 40)
            let members = try store.submit(drafts, allowUnknownTypes: false).map { try $0.get().id }
            if moment == .filled { try rig.back(up: store) }
            try store.seal(batch)
            if moment == .sealed { try rig.back(up: store) }
            for member in members { try end(store, member) }
            if moment == .ended { try rig.back(up: store) }
            try carry(store)
            if moment == .told { try rig.back(up: store) }
            #expect(try store.command(batch)?.status == .success)
            return batch
        }()
        let home = batch.shard(of: 4)
        try rig.restore(shard: isHome ? home : (home + 1) % 4)
        let store = try rig.store()
        try runAll(store)
        #expect(try store.command(batch)?.status == (isHome && moment == .beforeAll ? nil : .success))
        try check(store)
    }

    /// A batch of 40 members, not sealed, and one of them that is in the shard after that of the batch.
    private func filledBatch(
        _ store: SQLiteStore
    ) throws -> (batch: CommandID, members: [CommandID], member: CommandID) {
        try store.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 1, bootID: ""))
        let batch = try store.open(BatchDraft("import"), allowUnknownTypes: false)
        let drafts = [CommandDraft](repeating: .noop.with { $0.batch = batch }, count: 40)
        let members = try store.submit(drafts, allowUnknownTypes: false).map { try $0.get().id }
        return (batch, members, try #require(members.first { $0.shard(of: 4) == (batch.shard(of: 4) + 1) % 4 }))
    }

    /// The copy gives numbers of messages again that the batch has seen, whatever the wall clock shows at the restore.
    @Test func `a batch hears of a retried member of a restored shard`() throws {
        let (batch, member, shard) = try {
            let store = try rig.store()
            let (batch, members, member) = try filledBatch(store)
            let shard = member.shard(of: 4)
            for other in members where other != member { try end(store, other) }
            try rig.back(up: store)
            // Messages that the copy does not know of.
            for _ in 0..<5 {
                let parent = try submit(store, to: shard)
                _ = try submit(store, to: batch.shard(of: 4)) { $0.dependencies = [Dependency(on: parent)] }
                try carry(store)
                try end(store, parent)
                try carry(store)
            }
            try store.seal(batch)
            try end(store, member, .failure(CommandFailure(.final, reason: "HTTP 404")))
            try carry(store)
            #expect(try store.command(batch)?.status == .tooManyTimes)
            return (batch, member, shard)
        }()
        try rig.restore(shard: shard)
        let store = try rig.store()
        try store.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 1, bootID: ""))
        try carry(store)
        try end(store, member, .failure(CommandFailure(.final, reason: "HTTP 404")))
        try carry(store)
        _ = try store.retry(member)
        try runAll(store)
        #expect(try store.command(batch)?.status == .success)
        try check(store)
    }

    /// A batch drops a message whose number is not greater than that of the last one of the same part, and the copy has given
    /// fewer numbers.
    @Test func `a batch that heard of a retried member hears the end of the restored part`() throws {
        let (batch, shard) = try {
            let store = try rig.store()
            let (batch, members, failing) = try filledBatch(store)
            try store.seal(batch)
            try rig.back(up: store)
            for member in members {
                let failure = CommandFailure(.final, reason: "404")
                try end(store, member, member == failing ? .failure(failure) : .success(result: nil))
            }
            try carry(store)
            #expect(try store.command(batch)?.status == .tooManyTimes)
            _ = try store.retry(failing)
            try carry(store)
            #expect(try store.command(batch)?.status == .blocked)
            return (batch, failing.shard(of: 4))
        }()
        try rig.restore(shard: shard)
        let store = try rig.store()
        try runAll(store)
        #expect(try store.command(batch)?.status == .success)
    }

    @Test func `a batch whose members are lost ends without them`() throws {
        let (batch, shard) = try {
            let store = try rig.store()
            try rig.back(up: store)
            let batch = try store.open(BatchDraft("import"), allowUnknownTypes: false)
            let drafts = [CommandDraft](repeating: .noop.with { $0.batch = batch }, count: 40)
            _ = store.submit(drafts, allowUnknownTypes: false)
            return (batch, (batch.shard(of: 4) + 1) % 4)
        }()
        try rig.restore(shard: shard)
        let store = try rig.store()
        // It takes members in that shard again, and can be sealed.
        #expect(try store.batch(batch)?.isSealed == false)
        let drafts = [CommandDraft](repeating: .noop.with { $0.batch = batch }, count: 40)
        for submission in store.submit(drafts, allowUnknownTypes: false) { _ = try submission.get() }
        try store.seal(batch)
        try runAll(store)
        #expect(try store.command(batch)?.status == .success)
        try check(store)
    }

    @Test func `the members of a restored shard hear that their batch is cancelled`() throws {
        let (batch, members, shard) = try {
            let store = try rig.store()
            let batch = try store.open(BatchDraft("import"), allowUnknownTypes: false)
            let drafts = [CommandDraft](repeating: .noop.with { $0.batch = batch }, count: 40)
            let members = try store.submit(drafts, allowUnknownTypes: false).map { try $0.get().id }
            try store.seal(batch)
            try rig.back(up: store)
            let shard = (batch.shard(of: 4) + 1) % 4
            // Keeps its part from ending.
            try store.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 1, bootID: ""))
            let other = try #require(members.first { $0.shard(of: 4) == shard })
            _ = try store.apply(
                [.claim(other, sent: true)], shard: other.shard(of: 4), seat: 1, epoch: 7,
                timeout: .seconds(1))
            _ = try store.cancel(batch, reason: "cancelled by a person")
            try carry(store)
            return (batch, members, shard)
        }()
        try rig.restore(shard: shard)
        let store = try rig.store()
        try carry(store)
        for member in members where member.shard(of: 4) == shard {
            #expect(try store.command(member)?.status == .cancelled)
        }
        #expect(try store.command(batch)?.status == .cancelled)
        try check(store)
    }
}
