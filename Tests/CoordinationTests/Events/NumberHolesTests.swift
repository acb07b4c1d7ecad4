import Commands
import Host
import Store
import TestSupport
import Testing

@testable import Coordination

/// The sequencer on a store whose numbers have holes.
@Suite struct NumberHolesTests {
    /// A sequencer of one shard, and what it published.
    private struct Rig {
        let store: RenumberedStore
        private let memory = MemoryStore(shardCount: 1, clock: SettableClock())
        private var sequencer = EventSequencer(newest: [0])
        private(set) var published: [Int64] = []
        private(set) var gaps: [ClosedRange<Int64>] = []

        init(_ count: Int, seed: UInt64 = 7) throws {
            store = RenumberedStore(memory, seed: seed)
            try submit(count)
        }

        func submit(_ count: Int) throws {
            let draft = CommandDraft(type: "noop", payload: [], destination: .none, idempotent: true)
            let drafts = Array(repeating: draft, count: count)
            for result in memory.submit(drafts, allowUnknownTypes: true, now: .zero) { _ = try result.get() }
        }

        var deadline: MonotonicTime? { sequencer.deadline }

        /// The numbers of transitions of the store.
        func numbers(_ real: ClosedRange<Int64>) -> [Int64] { real.map(store.holes.number) }

        /// Reports arrive.
        mutating func report(_ real: some Sequence<Int64>, now: MonotonicTime) throws {
            for real in real {
                let page = try memory.events(shard: 0, after: real - 1, limit: 1)
                for event in store.holes.renumbered(page, after: real - 1).events {
                    sequencer.add(event, now: now) { published.append($0.transition.seq) }
                }
            }
        }

        /// Makes the reads that are due.
        mutating func read(now: MonotonicTime, isDirty: Bool = false, limit: Int = 1000) throws {
            for read in sequencer.reads(now: now, dirty: isDirty ? [0] : []) {
                let page = try store.events(shard: read.shard, after: read.after, limit: limit)
                let gap = sequencer.fill(shard: read.shard, after: read.after, page, now: now) {
                    published.append($0.transition.seq)
                }
                if let gap { gaps.append(gap) }
            }
        }

        func cancelAndPrune(_ real: ClosedRange<Int64>) throws {
            let events = try memory.events(shard: 0, after: real.lowerBound - 1, limit: real.count).events
            for event in events { _ = try memory.cancel(event.transition.id, reason: "test", now: .zero) }
            _ = try memory.prune(
                shard: 0, before: .zero + .seconds(60), statuses: [.cancelled], limit: real.count)
        }
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>) func `numbers that were never given are passed over in one read`(
        _ seed: UInt64
    ) throws {
        var rig = try Rig(100, seed: seed)
        try rig.read(now: .zero, isDirty: true)
        #expect(rig.published == rig.numbers(1...100))
        #expect(rig.store.reads == 1 && rig.gaps.isEmpty && rig.deadline == nil)
    }

    @Test func `a page that reaches its limit is followed by the next`() throws {
        var rig = try Rig(100)
        for _ in 0..<10 { try rig.read(now: .zero, isDirty: true, limit: 10) }
        #expect(rig.published == rig.numbers(1...100))
        #expect(rig.store.reads == 10 && rig.gaps.isEmpty && rig.deadline == nil)
    }

    @Test func `reports with holes between them need one read, and each is published once`() throws {
        var rig = try Rig(50)
        var random = SeededRandom(seed: 3)
        try rig.report((1...50).shuffled(using: &random), now: .zero)
        try rig.read(now: .zero)
        #expect(rig.store.reads == 0, "reports may overtake each other")
        try rig.read(now: .zero + EventSequencer.timeout)
        #expect(rig.published == rig.numbers(1...50))
        #expect(rig.store.reads == 1 && rig.gaps.isEmpty && rig.deadline == nil)
        try rig.report(1...50, now: after(1))
        #expect(rig.published.count == 50)
    }

    @Test func `a number of an open transaction is waited for`() throws {
        var rig = try Rig(10)
        rig.store.setOpen(5)
        try rig.read(now: .zero, isDirty: true)
        #expect(rig.published == rig.numbers(1...4) && rig.gaps.isEmpty)
        #expect(rig.deadline == MonotonicTime.zero + EventSequencer.timeout)
        // Each read that finds it missing puts the next one off.
        var now = MonotonicTime.zero
        for reads in 2...10 {
            now += EventSequencer.timeout
            try rig.read(now: now)
            #expect(rig.store.reads == reads && rig.deadline == now + EventSequencer.timeout)
        }
        #expect(rig.published == rig.numbers(1...4) && rig.gaps.isEmpty)
        rig.store.setOpen(nil)
        try rig.read(now: now + EventSequencer.timeout)
        #expect(rig.published == rig.numbers(1...10) && rig.gaps.isEmpty && rig.deadline == nil)
    }

    @Test func `a number of a transaction that stays open is a gap`() throws {
        var rig = try Rig(10)
        rig.store.setOpen(5)
        var now = MonotonicTime.zero
        try rig.read(now: now, isDirty: true)
        while rig.published.count < 9, rig.store.reads < 1000 {
            if rig.gaps.isEmpty { #expect(now <= .zero + EventSequencer.timeout + EventSequencer.maxOpen) }
            now += EventSequencer.timeout
            try rig.read(now: now)
        }
        #expect(rig.published == rig.numbers(1...4) + rig.numbers(6...10) && rig.deadline == nil)
        let open = rig.store.holes.number(of: 5)
        #expect(rig.gaps.first?.lowerBound == open && !rig.gaps.contains { $0.upperBound < open })
        // The first wait lasts for the whole time, and those for the numbers behind it for one read each.
        let reads = Int(EventSequencer.maxOpen / EventSequencer.timeout)
        #expect((reads...reads + 8).contains(rig.store.reads), "\(rig.store.reads)")
        rig.store.setOpen(nil)
        try rig.report([5], now: now)
        #expect(rig.published.count == 9, "a number behind the published ones")
    }

    @Test func `a transition that was pruned is a gap beside numbers that were never given`() throws {
        var rig = try Rig(10)
        try rig.cancelAndPrune(1...3)
        try rig.read(now: .zero, isDirty: true, limit: 5)
        #expect(rig.published == rig.numbers(4...8) && rig.store.reads == 1)
        #expect(rig.gaps == [1...rig.store.holes.number(of: 3)])
    }
}
