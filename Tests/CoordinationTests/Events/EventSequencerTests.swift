import Commands
import Host
import Store
import TestSupport
import Testing

@testable import Coordination

@Suite struct EventSequencerTests {
    private func event(_ seq: Int64, shard: Int = 0) -> StatusEvent {
        StatusEvent(
            transition: Transition(
                seq: seq, id: CommandID(high: 0, low: 0), status: .sent, at: .zero, claim: 1),
            type: "noop", qos: .default, destination: .none, retries: 0, shard: shard)
    }

    /// All transitions of a store without holes behind the number 0.
    private func page(_ events: [StatusEvent], newest: Int64) -> EventPage {
        EventPage(withoutHoles: events, after: 0, limit: .max, newest: newest)
    }

    @Test func `events that come in order are published at once`() {
        var sequencer = EventSequencer(newest: [10])
        var published: [Int64] = []
        for seq in [11, 12, 13] as [Int64] {
            sequencer.add(event(seq), now: .zero) { published.append($0.transition.seq) }
        }
        #expect(published == [11, 12, 13])
        #expect(sequencer.deadline == nil)
    }

    @Test func `reports that overtake each other are put in order`() {
        var sequencer = EventSequencer(newest: [0])
        var published: [Int64] = []
        for seq in [3, 2, 5, 1, 4, 4, 2] as [Int64] {
            sequencer.add(event(seq), now: .zero) { published.append($0.transition.seq) }
        }
        #expect(published == [1, 2, 3, 4, 5])
        #expect(sequencer.deadline == nil)
    }

    @Test func `a number that has no next one is dropped`() {
        var sequencer = EventSequencer(newest: [.max - 2])
        var published: [Int64] = []
        for seq in [.max, .max - 1, .max] as [Int64] {
            sequencer.add(event(seq), now: .zero) { published.append($0.transition.seq) }
        }
        #expect(published == [.max - 1])
    }

    @Test func `a gap that lasts is read from the store`() {
        var sequencer = EventSequencer(newest: [0, 0])
        var published: [Int64] = []
        sequencer.add(event(3, shard: 1), now: after(nanoseconds: 100)) { published.append($0.transition.seq) }
        #expect(sequencer.deadline == after(nanoseconds: 100) + EventSequencer.timeout)
        #expect(value(sequencer.reads(now: after(nanoseconds: 100))).isEmpty)
        let reads = sequencer.reads(now: after(nanoseconds: 100) + EventSequencer.timeout)
        #expect(reads.map(\.shard) == [1])
        #expect(reads.map(\.after) == [0])
        #expect(value(sequencer.reads(now: after(1))).isEmpty, "one read at a time")
        let events = (1...3).map { event($0, shard: 1) }
        let gap = sequencer.fill(
            shard: 1, after: 0, page(events, newest: 3), now: after(nanoseconds: 200)
        ) { published.append($0.transition.seq) }
        #expect(gap == nil)
        #expect(published == [1, 2, 3])
        #expect(sequencer.deadline == nil)
    }

    @Test func `transitions that were pruned are reported as a gap`() {
        var sequencer = EventSequencer(newest: [0])
        var published: [Int64] = []
        sequencer.add(event(9), now: .zero) { published.append($0.transition.seq) }
        _ = sequencer.reads(now: .zero + EventSequencer.timeout)
        let gap = sequencer.fill(shard: 0, after: 0, page([event(8), event(9)], newest: 9), now: .zero) {
            published.append($0.transition.seq)
        }
        #expect(gap == 1...7)
        #expect(published == [8, 9])
    }

    @Test func `a hole in the middle is a gap, and the events behind it are published`() {
        var sequencer = EventSequencer(newest: [0])
        var published: [Int64] = []
        for seq: Int64 in [1, 4] { sequencer.add(event(seq), now: .zero) { published.append($0.transition.seq) } }
        #expect(value(sequencer.reads(now: .zero + EventSequencer.timeout)).map(\.after) == [1])
        // The older rows of the shard are still there: only 2 and 3 are gone.
        let gap = sequencer.fill(shard: 0, after: 1, page([event(4)], newest: 4), now: .zero) {
            published.append($0.transition.seq)
        }
        #expect(gap == 2...3)
        #expect(published == [1, 4])
        #expect(sequencer.deadline == nil)
    }

    @Test func `transitions that were pruned before they were read are a gap, and later ones are not`() {
        var sequencer = EventSequencer(newest: [0])
        var published: [Int64] = []
        sequencer.add(event(3), now: .zero) { published.append($0.transition.seq) }
        _ = sequencer.reads(now: .zero + EventSequencer.timeout)
        sequencer.add(event(6), now: .zero) { published.append($0.transition.seq) }
        let gap = sequencer.fill(shard: 0, after: 0, page([], newest: 3), now: .zero) {
            published.append($0.transition.seq)
        }
        #expect(gap == 1...2)
        // 4 and 5 may have been written after the read.
        #expect(published == [3])
        #expect(value(sequencer.reads(now: .zero + EventSequencer.timeout)).map(\.after) == [3])
    }

    @Test func `a read that fails is tried again, and not at once`() {
        var sequencer = EventSequencer(newest: [0])
        sequencer.add(event(2), now: .zero) { _ in }
        let now = MonotonicTime.zero + EventSequencer.timeout
        _ = sequencer.reads(now: now)
        sequencer.readFailed(shard: 0, now: now)
        #expect(value(sequencer.reads(now: now + .milliseconds(500))).isEmpty)
        #expect(value(sequencer.reads(now: now + .seconds(1))).map(\.after) == [0])
    }

    @Test func `a producer's writes are read when a hint says so`() {
        var sequencer = EventSequencer(newest: [5])
        #expect(value(sequencer.reads(now: .zero, dirty: [0])).map(\.after) == [5])
    }
}
