import Commands
import Testing
import Wire

@testable import Work

@Suite struct PlacesTests {
    private func offer(
        _ number: UInt64, _ qos: QualityOfService = .default, group: UInt32 = 1, order: Int64 = 0, turn: Int64 = 0,
        suspect: Bool = false
    ) -> Offers.Offer {
        Offers.Offer(
            id: CommandID(high: 1, low: number), type: "noop", qos: qos, suspect: suspect, group: group,
            order: order == 0 ? Int64(number) : order, turn: turn)
    }

    private func slots(_ concurrency: Int, _ offers: [Offers.Offer]) -> SlotScheduler {
        var slots = SlotScheduler(concurrency: concurrency)
        slots.offered(Offers(first: 1, offers: offers), coordinator: 7, now: 0)
        return slots
    }

    /// Claims and begins what may begin.
    private func run(_ slots: inout SlotScheduler) -> [UInt64] {
        var started: [UInt64] = []
        while true {
            let decision = slots.begin(now: 0)
            started += decision.starts.map(\.low)
            if decision.claims.isEmpty { return started }
            for claim in decision.claims { slots.claimed(claim.id, preemptible: true, now: 0) }
        }
    }

    private func finish(_ slots: inout SlotScheduler, _ number: UInt64) {
        slots.ended(CommandID(high: 1, low: number))
        slots.settled(CommandID(high: 1, low: number))
    }

    @Test func `those of one moment begin in the order of their turns`() {
        var slots = slots(3, [offer(1, order: 5, turn: 9), offer(2, order: 5, turn: 7), offer(3, order: 4, turn: 8)])
        #expect(run(&slots) == [3, 2, 1])
    }

    @Test func `middle and low quality share the concurrency`() {
        var slots = slots(2, (1...5).map { offer($0, $0 % 2 == 0 ? .utility : .default) })
        // Middle before low, whatever the numbers.
        #expect(run(&slots) == [1, 3])
        finish(&slots, 1)
        #expect(run(&slots) == [5])
        finish(&slots, 3)
        #expect(run(&slots) == [2])
    }

    @Test func `high quality has as many places again`() {
        var slots = slots(2, (1...4).map { offer($0) })
        #expect(run(&slots) == [1, 2])
        slots.offered(
            Offers(
                first: 5, offers: [offer(10, .userInteractive), offer(11, .userInitiated), offer(12, .userInteractive)]),
            coordinator: 7, now: 0)
        #expect(run(&slots) == [10, 11])
    }

    @Test func `a command for an extra slot begins at once, whatever runs`() {
        var slots = slots(2, (1...4).map { offer($0) } + (5...6).map { offer($0, .userInitiated) })
        #expect(Set(run(&slots)) == [1, 2, 5, 6])
        var extra = offer(9, .background, group: 2)
        extra.isExtra = true
        slots.offered(Offers(first: 7, offers: [extra]), coordinator: 7, now: 0)
        #expect(run(&slots) == [9])
        #expect(slots.state.executing == 5)
        finish(&slots, 9)
        #expect(run(&slots).isEmpty, "its slot is for none of the others")
    }

    @Test func `high quality beyond its places preempts the youngest low`() {
        var slots = slots(2, [offer(1, .utility), offer(2, .background)])
        #expect(run(&slots) == [1, 2])
        slots.offered(
            Offers(first: 3, offers: (10...12).map { offer($0, .userInteractive) }), coordinator: 7, now: 0)
        let decision = slots.begin(now: 0)
        #expect(decision.claims.map(\.id.low) == [10, 11])
        #expect(decision.preempts.isEmpty)
        for claim in decision.claims { slots.claimed(claim.id, preemptible: true, now: 0) }
        let second = slots.begin(now: 0)
        #expect(second.starts.map(\.low) == [10, 11])
        #expect(second.preempts == [CommandID(high: 1, low: 2)])
        // Once is enough: the victim is on its way out.
        #expect(value(slots.begin(now: 0)).preempts.isEmpty)
        slots.ended(CommandID(high: 1, low: 2))
        #expect(value(slots.begin(now: 0)).claims.map(\.id.low) == [12])
    }

    @Test func `what is not idempotent is never preempted`() {
        var slots = slots(1, [offer(1, .utility)])
        let decision = slots.begin(now: 0)
        #expect(decision.claims.count == 1)
        slots.claimed(CommandID(high: 1, low: 1), preemptible: false, now: 0)
        #expect(value(slots.begin(now: 0)).starts.count == 1)
        slots.offered(Offers(first: 2, offers: (10...12).map { offer($0, .userInteractive) }), coordinator: 7, now: 0)
        _ = run(&slots)
        #expect(value(slots.begin(now: 0)).preempts.isEmpty)
    }

    @Test func `a worker executes one suspect at a time, and others pass those that wait`() {
        var slots = slots(4, [offer(1, suspect: true), offer(2, suspect: true), offer(3)])
        #expect(run(&slots) == [1, 3])
        slots.ended(offer(1).id)
        #expect(run(&slots) == [2])
    }

    @Test func `the next suspects are claimed ahead, unless a claim counts as a begin`() {
        func claims(_ slots: SlotScheduler) -> Set<CommandID> {
            let offers = (9001...9009).map { offer($0, suspect: true) } + [offer(9010)]
            var slots = slots
            slots.offered(Offers(first: slots.state.seen + 1, offers: offers), coordinator: 7, now: 0)
            return Set(slots.begin(now: 0).claims.map(\.id))
        }
        #expect(claims(hurried(4)) == Set(([9010] + Array(9001...9008) as [UInt64]).map { offer($0).id }))
        var strict = hurried(4)
        strict.maxSuspects = 1
        #expect(claims(strict) == [offer(9001).id, offer(9010).id])
        // Nor where operations take long.
        #expect(claims(SlotScheduler(concurrency: 4)) == [offer(9001).id, offer(9010).id])
    }

    @Test func `a suspect does not wait behind one that takes long`() {
        var slots = hurried(4)
        let offers = (9001...9009).map { offer($0, suspect: true) }
        slots.offered(Offers(first: slots.state.seen + 1, offers: offers), coordinator: 7, now: 0)
        #expect(run(&slots) == [9001])
        #expect(slots.tick(now: 1_000_000_000).isEmpty)
        #expect(slots.tick(now: 1_000_000_001) == offers[1...7].map(\.id))
        for number in 9002...9008 as ClosedRange<UInt64> { finish(&slots, number) }
        // The ninth is not taken for them.
        #expect(slots.begin(now: 1_000_000_001).claims.isEmpty)
        finish(&slots, 9001)
        #expect(slots.begin(now: 1_000_000_001).claims.map(\.id) == [offers[8].id])
    }

    @Test func `skipped offer numbers count as resolved`() {
        var slots = SlotScheduler(concurrency: 1)
        slots.offered(Offers(first: 4, offers: [offer(1)]), coordinator: 7, now: 0)
        #expect(slots.state.seen == 4)
        #expect(slots.state.resolved == 3)
    }

    @Test func `an offer that cannot begin is forgotten after two seconds`() {
        var slots = slots(1, [offer(1), offer(2)])
        #expect(run(&slots) == [1])
        _ = slots.tick(now: SlotScheduler.timeout)
        #expect(slots.waitingCount == 1)
        _ = slots.tick(now: SlotScheduler.timeout + 1)
        #expect(slots.waitingCount == 0)
        #expect(slots.state.resolved == 1)
    }

    @Test func `a new coordinator counts from one`() {
        var slots = slots(1, [offer(1), offer(2)])
        #expect(run(&slots) == [1])
        slots.offered(Offers(first: 1, offers: [offer(3)]), coordinator: 8, now: 0)
        #expect(slots.state.coordinator == 8)
        #expect(slots.state.seen == 1)
        #expect(slots.state.resolved == 0)
        // The end of what the last one offered is not counted to the new one.
        finish(&slots, 1)
        #expect(slots.state.resolved == 0)
        #expect(run(&slots) == [3])
        finish(&slots, 3)
        #expect(slots.state.resolved == 1)
    }

    @Test func `draining releases what has not begun and takes nothing more`() {
        var slots = slots(1, [offer(1), offer(2)])
        let decision = slots.begin(now: 0)
        for claim in decision.claims { slots.claimed(claim.id, preemptible: true, now: 0) }
        #expect(value(slots.drain()) == decision.claims.map(\.id))
        slots.offered(Offers(first: 3, offers: [offer(9)]), coordinator: 7, now: 0)
        #expect(value(slots.begin(now: 0)) == SlotScheduler.Decision())
        #expect(slots.state.phase == .draining)
    }

    @Test func `a pause forgets the offers that it covers`() {
        var slots = slots(1, [offer(1, .utility), offer(2, .background, group: 5)])
        slots.pause([.init(group: 0, qualities: 1 << UInt8(QualityOfService.background.rawValue))])
        #expect(slots.waitingCount == 1)
        slots.offered(Offers(first: 3, offers: [offer(3, .background)]), coordinator: 7, now: 0)
        #expect(slots.waitingCount == 1)
    }

    /// Has completed 4,000 a second, each claim 5 ms in the committing.
    private func hurried(_ concurrency: Int) -> SlotScheduler {
        var slots = SlotScheduler(concurrency: concurrency)
        _ = slots.tick(now: 0)
        var number: Int64 = 1
        for _ in 0..<500 {
            let offers = (0..<2).map { offer(UInt64(number + $0)) }
            slots.offered(Offers(first: number, offers: offers), coordinator: 7, now: 0)
            number += 2
            for claim in slots.begin(now: 0).claims { slots.claimed(claim.id, preemptible: true, now: 5_000_000) }
            for id in slots.begin(now: 0).starts { finish(&slots, id.low) }
        }
        #expect(slots.ahead == 0)
        _ = slots.tick(now: 250_000_000)
        return slots
    }

    @Test func `what a commit's time completes is claimed ahead`() {
        // Twice the 5 ms of a commit.
        #expect((39...40).contains(hurried(2).ahead))
    }

    @Test func `long operations are not claimed ahead`() {
        var slots = slots(2, (1...200).map { offer($0) })
        #expect(value(slots.begin(now: 0)).claims.count == 2)
        _ = slots.tick(now: 250_000_000)
        #expect(slots.ahead == 0)
        #expect(value(slots.begin(now: 0)).claims.isEmpty)
    }

    @Test(arguments: [QualityOfService.default, .userInitiated])
    func `claims ahead are given back where operations turn out long`(_ qos: QualityOfService) {
        var slots = hurried(4)
        let next = slots.state.seen + 1
        let offers = (0..<20).map { offer(UInt64(next) + $0, qos) }
        slots.offered(Offers(first: next, offers: offers), coordinator: 7, now: 0)
        let started = run(&slots).count
        #expect(started == (qos == .default ? 4 : 8))
        #expect(slots.heldCount == 20)
        #expect(slots.tick(now: SlotScheduler.timeout).isEmpty)
        let late = slots.tick(now: SlotScheduler.timeout + 1)
        #expect(late == offers[started...].map(\.id))
        for id in late { finish(&slots, id.low) }
        #expect(slots.heldCount == started)
    }

    @Test(arguments: 0..<20) func `no sequence of events breaks the limits`(seed: Int) {
        var random = SplitMix(state: UInt64(seed))
        let concurrency = Int(random.next() % 6) + 1
        var slots = SlotScheduler(concurrency: concurrency)
        var executing: [CommandID: QualityOfService] = [:]
        var known: [CommandID: QualityOfService] = [:]
        var number: Int64 = 1
        for step in 0..<2000 {
            if random.next() % 3 == 0 {
                let qos = QualityOfService.allCases[Int(random.next() % 5)]
                let offer = offer(UInt64(number), qos, group: UInt32(random.next() % 3) + 1)
                known[offer.id] = qos
                slots.offered(Offers(first: number, offers: [offer]), coordinator: 1, now: Int64(step))
                number += 1
            }
            if let id = executing.keys.min(by: { $0.low &* 7919 % 13 < $1.low &* 7919 % 13 }), random.next() % 2 == 0 {
                slots.ended(id)
                slots.settled(id)
                executing[id] = nil
            }
            let decision = slots.begin(now: 0)
            for claim in decision.claims {
                if random.next() % 8 == 0 {
                    slots.refused(claim.id)
                } else {
                    slots.claimed(claim.id, preemptible: true, now: 0)
                }
            }
            for id in decision.starts + slots.begin(now: 0).starts { executing[id] = known[id] }
            let high = executing.values.count { $0.serviceClass == .high }
            #expect(executing.count - high <= concurrency)
            #expect(executing.count <= 2 * concurrency)
            #expect(slots.state.executing == executing.count)
        }
        #expect(slots.state.resolved <= slots.state.seen)
    }
}

struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// Evaluates a mutating call before the expectation takes it apart.
private func value<Value>(_ value: Value) -> Value { value }
