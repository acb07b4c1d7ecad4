import Commands
import Store
import TestSupport
import Testing

@testable import Queue

/// The reader of transitions on a store whose numbers have holes.
struct TransitionReaderTests {
    private static let shardCount = 4

    private struct Rig {
        let memory: MemoryStore
        let store: RenumberedStore
        let reader: TransitionReader
        private(set) var position: TransitionPosition
        /// Of each shard.
        private(set) var numbers: [[Int64]]
        private(set) var gaps: [TransitionGap] = []

        init(_ count: Int, shardCount: Int = TransitionReaderTests.shardCount, seed: UInt64 = 7) throws {
            memory = MemoryStore(shardCount: shardCount, clock: SettableClock())
            store = RenumberedStore(memory, seed: seed)
            reader = TransitionReader(store)
            position = TransitionPosition([Int64](repeating: 0, count: shardCount))
            numbers = Array(repeating: [], count: shardCount)
            let draft = CommandDraft(type: "noop", payload: [], destination: .none, idempotent: true)
            let drafts = Array(repeating: draft, count: count)
            for result in memory.submit(drafts, allowUnknownTypes: true, now: .zero) { _ = try result.get() }
        }

        /// The numbers of all transitions of each shard.
        func given() throws -> [[Int64]] {
            try (0..<memory.shardCount).map { shard in
                let last = try memory.lastTransition(shard: shard)
                return (0..<last).map { store.holes.number(of: $0 + 1) }
            }
        }

        /// Reads one page.
        /// - Returns: whether the position has moved.
        mutating func read(to target: TransitionPosition, limit: Int = .max) throws -> Bool {
            let page = try reader.page(after: position, to: target, limit: limit)
            for change in page.changes(TransitionFilter()) {
                switch change.change {
                case .transition(let found): numbers[found.shard].append(found.transition.seq)
                case .gap(let gap): gaps.append(gap)
                }
            }
            defer { position = page.end }
            return page.end != position
        }
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `numbers that were never given are passed over in one read of each shard`(_ seed: UInt64) throws {
        var rig = try Rig(300, seed: seed)
        let newest = try rig.reader.newest()
        _ = try rig.read(to: newest)
        #expect(try rig.numbers == rig.given() && rig.gaps.isEmpty)
        #expect(rig.store.reads == Self.shardCount && rig.position == newest)
    }

    @Test func `a reader in small pages gets each transition once, in order`() throws {
        var rig = try Rig(300)
        let newest = try rig.reader.newest()
        while rig.position != newest { try #require(try rig.read(to: newest, limit: 7)) }
        #expect(try rig.numbers == rig.given() && rig.gaps.isEmpty)
    }

    @Test func `a number of an open transaction is waited for, and none behind it is read`() throws {
        var rig = try Rig(300)
        let target = try rig.reader.newest()
        rig.store.setOpen(3)
        // A reader that begins now does not miss it.
        let start = TransitionPosition(
            Array(repeating: rig.store.holes.number(of: 3) - 1, count: Self.shardCount))
        #expect(try rig.reader.newest() == start)
        #expect(try rig.read(to: target))
        #expect(rig.numbers.allSatisfy { $0 == [1, 2].map(rig.store.holes.number) } && rig.position == start)
        for _ in 0..<3 { #expect(try !rig.read(to: target)) }
        rig.store.setOpen(nil)
        _ = try rig.read(to: target)
        #expect(try rig.numbers == rig.given() && rig.gaps.isEmpty && rig.position == target)
    }

    @Test func `a transition that was pruned is a gap beside numbers that were never given`() throws {
        var rig = try Rig(10, shardCount: 1)
        for event in try rig.memory.events(shard: 0, after: 0, limit: 3).events {
            _ = try rig.memory.cancel(event.transition.id, reason: "test", now: .zero)
        }
        _ = try rig.memory.prune(shard: 0, before: .zero + .seconds(60), statuses: [.cancelled], limit: 3)
        _ = try rig.read(to: try rig.reader.newest(), limit: 5)
        #expect(rig.numbers[0] == (4...8).map { rig.store.holes.number(of: $0) })
        #expect(rig.gaps == [TransitionGap(shard: 0, numbers: 1...rig.store.holes.number(of: 3))])
    }
}
