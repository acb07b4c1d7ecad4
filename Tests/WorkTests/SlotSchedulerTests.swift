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

    private func places(_ concurrency: Int, _ offers: [Offers.Offer]) -> SlotScheduler {
        var places = SlotScheduler(concurrency: concurrency)
        places.offered(Offers(first: 1, offers: offers), coordinator: 7, now: 0)
        return places
    }

    /// Claims and begins what may begin.
    private func run(_ places: inout SlotScheduler) -> [UInt64] {
        var started: [UInt64] = []
        while true {
            let decision = places.begin(now: 0)
            started += decision.starts.map(\.low)
            if decision.claims.isEmpty { return started }
            for claim in decision.claims { places.claimed(claim.id, preemptible: true, now: 0) }
        }
    }

    private func finish(_ places: inout SlotScheduler, _ number: UInt64) {
        places.ended(CommandID(high: 1, low: number))
        places.settled(CommandID(high: 1, low: number))
    }

    @Test func `those of one moment begin in the order of their turns`() {
        var places = places(3, [offer(1, order: 5, turn: 9), offer(2, order: 5, turn: 7), offer(3, order: 4, turn: 8)])
        #expect(run(&places) == [3, 2, 1])
    }

    @Test func `middle and low quality share the concurrency`() {
        var places = places(2, (1...5).map { offer($0, $0 % 2 == 0 ? .utility : .default) })
        // Middle before low, whatever the numbers.
        #expect(run(&places) == [1, 3])
        finish(&places, 1)
        #expect(run(&places) == [5])
        finish(&places, 3)
        #expect(run(&places) == [2])
    }

    @Test func `high quality has as many places again`() {
        var places = places(2, (1...4).map { offer($0) })
        #expect(run(&places) == [1, 2])
        places.offered(
            Offers(
                first: 5, offers: [offer(10, .userInteractive), offer(11, .userInitiated), offer(12, .userInteractive)]),
            coordinator: 7, now: 0)
        #expect(run(&places) == [10, 11])
    }

    @Test func `a command for an extra slot begins at once, whatever runs`() {
        var places = places(2, (1...4).map { offer($0) } + (5...6).map { offer($0, .userInitiated) })
        #expect(Set(run(&places)) == [1, 2, 5, 6])
        var extra = offer(9, .background, group: 2)
        extra.isExtra = true
        places.offered(Offers(first: 7, offers: [extra]), coordinator: 7, now: 0)
        #expect(run(&places) == [9])
        #expect(places.state.executing == 5)
        finish(&places, 9)
        #expect(run(&places).isEmpty, "its slot is for none of the others")
    }

    @Test func `high quality beyond its places preempts the youngest low`() {
        var places = places(2, [offer(1, .utility), offer(2, .background)])
        #expect(run(&places) == [1, 2])
        places.offered(
            Offers(first: 3, offers: (10...12).map { offer($0, .userInteractive) }), coordinator: 7, now: 0)
        let decision = places.begin(now: 0)
        #expect(decision.claims.map(\.id.low) == [10, 11])
        #expect(decision.preempts.isEmpty)
        for claim in decision.claims { places.claimed(claim.id, preemptible: true, now: 0) }
        let second = places.begin(now: 0)
        #expect(second.starts.map(\.low) == [10, 11])
        #expect(second.preempts == [CommandID(high: 1, low: 2)])
        // Once is enough: the victim is on its way out.
        #expect(value(places.begin(now: 0)).preempts.isEmpty)
        places.ended(CommandID(high: 1, low: 2))
        #expect(value(places.begin(now: 0)).claims.map(\.id.low) == [12])
    }

    @Test func `what is not idempotent is never preempted`() {
        var places = places(1, [offer(1, .utility)])
        let decision = places.begin(now: 0)
        #expect(decision.claims.count == 1)
        places.claimed(CommandID(high: 1, low: 1), preemptible: false, now: 0)
        #expect(value(places.begin(now: 0)).starts.count == 1)
        places.offered(Offers(first: 2, offers: (10...12).map { offer($0, .userInteractive) }), coordinator: 7, now: 0)
        _ = run(&places)
        #expect(value(places.begin(now: 0)).preempts.isEmpty)
    }

    @Test func `a worker executes one suspect at a time, and others pass those that wait`() {
        var places = places(4, [offer(1, suspect: true), offer(2, suspect: true), offer(3)])
        #expect(run(&places) == [1, 3])
        places.ended(offer(1).id)
        #expect(run(&places) == [2])
    }

    @Test func `the next suspects are claimed ahead, unless a claim counts as a begin`() {
        func claims(_ places: SlotScheduler) -> Set<CommandID> {
            let offers = (9001...9009).map { offer($0, suspect: true) } + [offer(9010)]
            var places = places
            places.offered(Offers(first: places.state.seen + 1, offers: offers), coordinator: 7, now: 0)
            return Set(places.begin(now: 0).claims.map(\.id))
        }
        #expect(claims(hurried(4)) == Set(([9010] + Array(9001...9008) as [UInt64]).map { offer($0).id }))
        var strict = hurried(4)
        strict.maxSuspects = 1
        #expect(claims(strict) == [offer(9001).id, offer(9010).id])
        // Nor where operations take long.
        #expect(claims(SlotScheduler(concurrency: 4)) == [offer(9001).id, offer(9010).id])
    }

    @Test func `a suspect does not wait behind one that takes long`() {
        var places = hurried(4)
        let offers = (9001...9009).map { offer($0, suspect: true) }
        places.offered(Offers(first: places.state.seen + 1, offers: offers), coordinator: 7, now: 0)
        #expect(run(&places) == [9001])
        #expect(places.tick(now: 1_000_000_000).isEmpty)
        #expect(places.tick(now: 1_000_000_001) == offers[1...7].map(\.id))
        for number in 9002...9008 as ClosedRange<UInt64> { finish(&places, number) }
        // The ninth is not taken for them.
        #expect(places.begin(now: 1_000_000_001).claims.isEmpty)
        finish(&places, 9001)
        #expect(places.begin(now: 1_000_000_001).claims.map(\.id) == [offers[8].id])
    }

    @Test func `skipped offer numbers count as resolved`() {
        var places = SlotScheduler(concurrency: 1)
        places.offered(Offers(first: 4, offers: [offer(1)]), coordinator: 7, now: 0)
        #expect(places.state.seen == 4)
        #expect(places.state.resolved == 3)
    }

    @Test func `an offer that cannot begin is forgotten after two seconds`() {
        var places = places(1, [offer(1), offer(2)])
        #expect(run(&places) == [1])
        _ = places.tick(now: SlotScheduler.timeout)
        #expect(places.waitingCount == 1)
        _ = places.tick(now: SlotScheduler.timeout + 1)
        #expect(places.waitingCount == 0)
        #expect(places.state.resolved == 1)
    }

    @Test func `a new coordinator counts from one`() {
        var places = places(1, [offer(1), offer(2)])
        #expect(run(&places) == [1])
        places.offered(Offers(first: 1, offers: [offer(3)]), coordinator: 8, now: 0)
        #expect(places.state.coordinator == 8)
        #expect(places.state.seen == 1)
        #expect(places.state.resolved == 0)
        // The end of what the last one offered is not counted to the new one.
        finish(&places, 1)
        #expect(places.state.resolved == 0)
        #expect(run(&places) == [3])
        finish(&places, 3)
        #expect(places.state.resolved == 1)
    }

    @Test func `draining releases what has not begun and takes nothing more`() {
        var places = places(1, [offer(1), offer(2)])
        let decision = places.begin(now: 0)
        for claim in decision.claims { places.claimed(claim.id, preemptible: true, now: 0) }
        #expect(value(places.drain()) == decision.claims.map(\.id))
        places.offered(Offers(first: 3, offers: [offer(9)]), coordinator: 7, now: 0)
        #expect(value(places.begin(now: 0)) == SlotScheduler.Decision())
        #expect(places.state.phase == .draining)
    }

    @Test func `a pause forgets the offers that it covers`() {
        var places = places(1, [offer(1, .utility), offer(2, .background, group: 5)])
        places.pause([.init(group: 0, qualities: 1 << UInt8(QualityOfService.background.rawValue))])
        #expect(places.waitingCount == 1)
        places.offered(Offers(first: 3, offers: [offer(3, .background)]), coordinator: 7, now: 0)
        #expect(places.waitingCount == 1)
    }

    /// Has completed 4,000 a second, each claim 5 ms in the committing.
    private func hurried(_ concurrency: Int) -> SlotScheduler {
        var places = SlotScheduler(concurrency: concurrency)
        _ = places.tick(now: 0)
        var number: Int64 = 1
        for _ in 0..<500 {
            let offers = (0..<2).map { offer(UInt64(number + $0)) }
            places.offered(Offers(first: number, offers: offers), coordinator: 7, now: 0)
            number += 2
            for claim in places.begin(now: 0).claims { places.claimed(claim.id, preemptible: true, now: 5_000_000) }
            for id in places.begin(now: 0).starts { finish(&places, id.low) }
        }
        #expect(places.ahead == 0)
        _ = places.tick(now: 250_000_000)
        return places
    }

    @Test func `what a commit's time completes is claimed ahead`() {
        // Twice the 5 ms of a commit.
        #expect((39...40).contains(hurried(2).ahead))
    }

    @Test func `long operations are not claimed ahead`() {
        var places = places(2, (1...200).map { offer($0) })
        #expect(value(places.begin(now: 0)).claims.count == 2)
        _ = places.tick(now: 250_000_000)
        #expect(places.ahead == 0)
        #expect(value(places.begin(now: 0)).claims.isEmpty)
    }

    @Test(arguments: [QualityOfService.default, .userInitiated])
    func `claims ahead are given back where operations turn out long`(_ qos: QualityOfService) {
        var places = hurried(4)
        let next = places.state.seen + 1
        let offers = (0..<20).map { offer(UInt64(next) + $0, qos) }
        places.offered(Offers(first: next, offers: offers), coordinator: 7, now: 0)
        let begun = run(&places).count
        #expect(begun == (qos == .default ? 4 : 8))
        #expect(places.heldCount == 20)
        #expect(places.tick(now: SlotScheduler.timeout).isEmpty)
        let late = places.tick(now: SlotScheduler.timeout + 1)
        #expect(late == offers[begun...].map(\.id))
        for id in late { finish(&places, id.low) }
        #expect(places.heldCount == begun)
    }

    @Test(arguments: 0..<20) func `no sequence of events breaks the limits`(seed: Int) {
        var random = SplitMix(state: UInt64(seed))
        let concurrency = Int(random.next() % 6) + 1
        var places = SlotScheduler(concurrency: concurrency)
        var executing: [CommandID: QualityOfService] = [:]
        var known: [CommandID: QualityOfService] = [:]
        var number: Int64 = 1
        for step in 0..<2000 {
            if random.next() % 3 == 0 {
                let qos = QualityOfService.allCases[Int(random.next() % 5)]
                let offer = offer(UInt64(number), qos, group: UInt32(random.next() % 3) + 1)
                known[offer.id] = qos
                places.offered(Offers(first: number, offers: [offer]), coordinator: 1, now: Int64(step))
                number += 1
            }
            if let id = executing.keys.min(by: { $0.low &* 7919 % 13 < $1.low &* 7919 % 13 }), random.next() % 2 == 0 {
                places.ended(id)
                places.settled(id)
                executing[id] = nil
            }
            let decision = places.begin(now: 0)
            for claim in decision.claims {
                if random.next() % 8 == 0 {
                    places.refused(claim.id)
                } else {
                    places.claimed(claim.id, preemptible: true, now: 0)
                }
            }
            for id in decision.starts + places.begin(now: 0).starts { executing[id] = known[id] }
            let high = executing.values.count { $0.serviceClass == .high }
            #expect(executing.count - high <= concurrency)
            #expect(executing.count <= 2 * concurrency)
            #expect(places.state.executing == executing.count)
        }
        #expect(places.state.resolved <= places.state.seen)
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
