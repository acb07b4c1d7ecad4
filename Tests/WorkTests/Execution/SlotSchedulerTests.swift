import Commands
import Host
import Testing
import Wire

@testable import Operations
@testable import Work

@Suite struct SlotSchedulerTests {
    private func offer(
        _ number: UInt64, _ qos: QualityOfService = .default, group: UInt32 = 1, order: Int64 = 0, turn: Int64 = 0,
        suspect: Bool = false, sole: Bool = false
    ) -> Offers.Offer {
        var offer = Offers.Offer(
            id: CommandID(high: 1, low: number), type: "noop", qos: qos, suspect: suspect, group: group,
            order: order == 0 ? Int64(number) : order)
        offer.turn = turn
        offer.isSoleSuspect = sole
        return offer
    }

    private func slots(_ concurrency: Int, _ offers: [Offers.Offer]) -> SlotScheduler {
        var slots = SlotScheduler(concurrency: concurrency)
        slots.offered(Offers(first: 1, offers: offers), coordinator: 7, now: .zero)
        return slots
    }

    /// Claims and starts what may start.
    private func run(_ slots: inout SlotScheduler, at seconds: Double = 0) -> [UInt64] {
        let now = .zero + .seconds(seconds) as MonotonicTime
        var started: [UInt64] = []
        while true {
            let decision = slots.begin(now: now)
            started += start(decision, in: &slots)
            if decision.claims.isEmpty { return started }
            for claim in decision.claims { slots.claimed(execution(of: claim), Scripted(type: "noop"), now: now) }
        }
    }

    private func execution(of offer: Offers.Offer, idempotent: Bool = true) -> CommandExecution {
        var command = Command(id: offer.id, type: offer.type, destination: .none, createdAt: .zero)
        command.qos = offer.qos
        command.idempotent = idempotent
        command.claim = 1
        return CommandExecution(command: command, payload: [], meter: TransferMeter())
    }

    /// Gives the commands that start their tasks.
    private func start(_ decision: SlotScheduler.Decision, in slots: inout SlotScheduler) -> [UInt64] {
        for start in decision.starts { slots.held.started(start, task: Task {}, logEntry: nil) }
        return decision.starts.map(\.execution.id.low)
    }

    /// Ends an execution, but not its commit.
    private func end(_ slots: inout SlotScheduler, _ number: UInt64) {
        let id = CommandID(high: 1, low: number)
        guard let execution = Array(slots.held.executions).first(where: { $0.id == id }) else { return }
        _ = slots.held.ended(execution, .success(nil), lastSuccess: nil)
    }

    private func finish(_ slots: inout SlotScheduler, _ number: UInt64) {
        end(&slots, number)
        _ = slots.held.endCommitted(CommandID(high: 1, low: number), claim: 1)
    }

    /// Gives a command back that has not started.
    private func release(_ slots: inout SlotScheduler, _ id: CommandID) {
        _ = slots.held.stop(id, .overdue)
        _ = slots.held.endCommitted(id, claim: 1)
    }

    @Test func `commands of the same millisecond start in submission order`() {
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

    @Test func `high quality has as many slots again`() {
        var slots = slots(2, (1...4).map { offer($0) })
        #expect(run(&slots) == [1, 2])
        slots.offered(
            Offers(
                first: 5, offers: [offer(10, .userInteractive), offer(11, .userInitiated), offer(12, .userInteractive)]),
            coordinator: 7, now: .zero)
        #expect(run(&slots) == [10, 11])
    }

    @Test func `a command for an extra slot starts at once, whatever runs`() {
        var slots = slots(2, (1...4).map { offer($0) } + (5...6).map { offer($0, .userInitiated) })
        #expect(Set(run(&slots)) == [1, 2, 5, 6])
        var extra = offer(9, .background, group: 2)
        extra.isExtra = true
        slots.offered(Offers(first: 7, offers: [extra]), coordinator: 7, now: .zero)
        #expect(run(&slots) == [9])
        #expect(slots.state.executing == 5)
        finish(&slots, 9)
        #expect(run(&slots).isEmpty, "its slot is not free for the others")
    }

    @Test func `high quality beyond its slots preempts the youngest low execution`() {
        var slots = slots(2, [offer(1, .utility), offer(2, .background)])
        #expect(run(&slots) == [1, 2])
        slots.offered(
            Offers(first: 3, offers: (10...12).map { offer($0, .userInteractive) }), coordinator: 7, now: .zero)
        let decision = slots.begin(now: .zero)
        #expect(decision.claims.map(\.id.low) == [10, 11])
        #expect(decision.preemptions.isEmpty)
        for claim in decision.claims { slots.claimed(execution(of: claim), Scripted(type: "noop"), now: .zero) }
        let second = slots.begin(now: .zero)
        #expect(start(second, in: &slots) == [10, 11])
        #expect(second.preemptions.map(\.id.low) == [2])
        // The victim is on its way out, so that no second one is needed.
        #expect(value(slots.begin(now: .zero)).preemptions.isEmpty)
        end(&slots, 2)
        #expect(value(slots.begin(now: .zero)).claims.map(\.id.low) == [12])
    }

    @Test func `a command that is not idempotent is never preempted`() {
        var slots = slots(1, [offer(1, .utility)])
        let decision = slots.begin(now: .zero)
        #expect(decision.claims.count == 1)
        slots.claimed(execution(of: decision.claims[0], idempotent: false), Scripted(type: "noop"), now: .zero)
        #expect(start(value(slots.begin(now: .zero)), in: &slots) == [1])
        slots.offered(
            Offers(first: 2, offers: (10...12).map { offer($0, .userInteractive) }), coordinator: 7, now: .zero)
        _ = run(&slots)
        #expect(value(slots.begin(now: .zero)).preemptions.isEmpty)
    }

    @Test func `a worker executes one suspect at a time, and other commands pass waiting suspects`() {
        var slots = slots(4, [offer(1, suspect: true), offer(2, suspect: true), offer(3)])
        #expect(run(&slots) == [1, 3])
        end(&slots, 1)
        #expect(run(&slots) == [2])
    }

    /// Sixteen commands of 10 s came back one by one after a death, and took 40 s instead of 10.
    @Test(arguments: [false, true])
    func `suspects start beside each other once the first has run for ten seconds`(hasEnded: Bool) {
        var slots = slots(8, (1...5).map { offer($0, suspect: true) } + [offer(9)])
        #expect(run(&slots) == [1, 9])
        #expect(run(&slots, at: 9.9).isEmpty)
        if hasEnded { finish(&slots, 1) }
        #expect(run(&slots, at: 10) == [2, 3, 4, 5])
        for number in UInt64(hasEnded ? 2 : 1)...5 { finish(&slots, number) }
        // Those that are offered again a moment later start too; much later ones are on trial again.
        slots.offered(Offers(first: 7, offers: (11...12).map { offer($0, suspect: true) }), coordinator: 7, now: .zero)
        #expect(run(&slots, at: 12) == [11, 12])
        for number in UInt64(11)...12 { finish(&slots, number) }
        #expect(run(&slots, at: 13).isEmpty)
        slots.offered(Offers(first: 9, offers: (13...14).map { offer($0, suspect: true) }), coordinator: 7, now: .zero)
        #expect(run(&slots, at: 30) == [13])
    }

    @Test func `a suspect that ends within ten seconds says nothing of the next`() {
        var slots = slots(8, (1...3).map { offer($0, suspect: true) })
        #expect(run(&slots) == [1])
        finish(&slots, 1)
        #expect(run(&slots, at: 9.9) == [2])
        #expect(run(&slots, at: 10).isEmpty)
        #expect(run(&slots, at: 20) == [3])
    }

    @Test func `a sole suspect has no other suspect beside it, and starts beside none`() {
        var slots = slots(
            8,
            [offer(1, suspect: true, sole: true), offer(2, suspect: true), offer(3, suspect: true, sole: true)]
                + [offer(4, suspect: true), offer(9)])
        #expect(run(&slots) == [1, 9])
        #expect(run(&slots, at: 60).isEmpty)
        finish(&slots, 1)
        #expect(run(&slots, at: 60) == [2], "its run says nothing of the others")
        #expect(run(&slots, at: 70) == [4])
        finish(&slots, 2)
        #expect(run(&slots, at: 71).isEmpty)
        finish(&slots, 4)
        #expect(run(&slots, at: 71) == [3])
    }

    @Test func `the next suspects are claimed ahead, unless a claim counts as a start`() {
        func claims(_ slots: SlotScheduler) -> Set<CommandID> {
            let offers = (9001...9009).map { offer($0, suspect: true) } + [offer(9010)]
            var slots = slots
            slots.offered(Offers(first: slots.state.seen + 1, offers: offers), coordinator: 7, now: .zero)
            return Set(slots.begin(now: .zero).claims.map(\.id))
        }
        #expect(claims(hurried(4)) == Set(([9010] + Array(9001...9008) as [UInt64]).map { offer($0).id }))
        var strict = hurried(4)
        strict.maxSuspects = 1
        #expect(claims(strict) == [offer(9001).id, offer(9010).id])
        // Nor where operations take long.
        #expect(claims(SlotScheduler(concurrency: 4)) == [offer(9001).id, offer(9010).id])
    }

    @Test func `a suspect that waits behind a long one is given back`() {
        var slots = hurried(4)
        let offers = (9001...9009).map { offer($0, suspect: true) }
        slots.offered(Offers(first: slots.state.seen + 1, offers: offers), coordinator: 7, now: .zero)
        #expect(run(&slots) == [9001])
        let late = .zero + .seconds(1) + .nanoseconds(1) as MonotonicTime
        #expect(slots.tick(now: .zero + .seconds(1)).isEmpty)
        #expect(slots.tick(now: late) == offers[1...7].map(\.id))
        for offer in offers[1...7] { release(&slots, offer.id) }
        // The ninth is not claimed in place of them.
        #expect(slots.begin(now: late).claims.isEmpty)
        finish(&slots, 9001)
        #expect(slots.begin(now: late).claims.map(\.id) == [offers[8].id])
    }

    @Test func `skipped offer numbers count as resolved`() {
        var slots = SlotScheduler(concurrency: 1)
        slots.offered(Offers(first: 4, offers: [offer(1)]), coordinator: 7, now: .zero)
        #expect(slots.state.seen == 4)
        #expect(slots.state.resolved == 3)
    }

    @Test func `an offer that cannot start is forgotten after two seconds`() {
        var slots = slots(1, [offer(1), offer(2)])
        #expect(run(&slots) == [1])
        _ = slots.tick(now: .zero + SlotScheduler.timeout)
        #expect(slots.waitingCount == 1)
        _ = slots.tick(now: .zero + SlotScheduler.timeout + .nanoseconds(1))
        #expect(slots.waitingCount == 0)
        #expect(slots.state.resolved == 1)
    }

    @Test func `a new coordinator counts from one`() {
        var slots = slots(1, [offer(1), offer(2)])
        #expect(run(&slots) == [1])
        slots.offered(Offers(first: 1, offers: [offer(3)]), coordinator: 8, now: .zero)
        #expect(slots.state.coordinator == 8)
        #expect(slots.state.seen == 1)
        #expect(slots.state.resolved == 0)
        // The end of a command that the last coordinator offered does not count for the new one.
        finish(&slots, 1)
        #expect(slots.state.resolved == 0)
        #expect(run(&slots) == [3])
        finish(&slots, 3)
        #expect(slots.state.resolved == 1)
    }

    @Test func `draining gives back unstarted commands and takes nothing more`() {
        var slots = slots(1, [offer(1), offer(2)])
        let decision = slots.begin(now: .zero)
        for claim in decision.claims { slots.claimed(execution(of: claim), Scripted(type: "noop"), now: .zero) }
        #expect(value(slots.drain()) == decision.claims.map(\.id))
        slots.offered(Offers(first: 3, offers: [offer(9)]), coordinator: 7, now: .zero)
        let none = slots.begin(now: .zero)
        #expect(none.claims.isEmpty && none.starts.isEmpty && none.preemptions.isEmpty)
        #expect(slots.state.phase == .draining)
    }

    private let pause = ControlState.Pause(group: 0, qualities: 1 << UInt8(QualityOfService.background.rawValue))

    @Test func `a pause holds the offers that it covers, and forgets them after the timeout`() {
        var slots = slots(1, [offer(1, .utility), offer(2, .background, group: 5)])
        slots.pause([pause])
        slots.offered(Offers(first: 3, offers: [offer(3, .background)]), coordinator: 7, now: .zero)
        #expect(slots.waitingCount == 1)
        #expect(run(&slots) == [1])
        finish(&slots, 1)
        #expect(run(&slots).isEmpty && slots.state.resolved == 1)
        _ = slots.tick(now: .zero + SlotScheduler.timeout + .milliseconds(1))
        #expect(slots.state.resolved == 3)
        slots.pause([])
        #expect(run(&slots).isEmpty)
    }

    /// Offers and control take different sockets: the offers that follow the end of a pause may arrive before it. The
    /// same holds for offers that were under way when a short pause began.
    @Test func `an offer that arrives before the end of its pause starts when the pause ends`() {
        var slots = slots(3, [offer(1, .background)])
        slots.pause([pause])
        slots.offered(Offers(first: 2, offers: [offer(2, .background)]), coordinator: 7, now: .zero)
        #expect(run(&slots).isEmpty)
        slots.pause([ControlState.Pause(group: 7, qualities: 0b11111)])
        #expect(run(&slots) == [1, 2])
        finish(&slots, 1)
        finish(&slots, 2)
        #expect(slots.state.resolved == 2)
    }

    /// A scheduler that has completed 4,000 commands a second; each claim took 5 ms to commit.
    private func hurried(_ concurrency: Int) -> SlotScheduler {
        var slots = SlotScheduler(concurrency: concurrency)
        _ = slots.tick(now: .zero)
        var number: Int64 = 1
        for _ in 0..<500 {
            let offers = (0..<2).map { offer(UInt64(number + $0)) }
            slots.offered(Offers(first: number, offers: offers), coordinator: 7, now: .zero)
            number += 2
            for claim in slots.begin(now: .zero).claims {
                slots.claimed(execution(of: claim), Scripted(type: "noop"), now: .zero + .milliseconds(5))
            }
            for number in start(value(slots.begin(now: .zero)), in: &slots) { finish(&slots, number) }
        }
        #expect(slots.ahead == 0)
        _ = slots.tick(now: .zero + .milliseconds(250))
        return slots
    }

    @Test func `as many commands as complete during a commit are claimed ahead`() {
        // Twice the 5 ms of a commit.
        #expect((39...40).contains(hurried(2).ahead))
    }

    @Test func `long operations are not claimed ahead`() {
        var slots = slots(2, (1...200).map { offer($0) })
        #expect(value(slots.begin(now: .zero)).claims.count == 2)
        _ = slots.tick(now: .zero + .milliseconds(250))
        #expect(slots.ahead == 0)
        #expect(value(slots.begin(now: .zero)).claims.isEmpty)
    }

    @Test(arguments: [QualityOfService.default, .userInitiated])
    func `claims ahead are given back where operations turn out long`(_ qos: QualityOfService) {
        var slots = hurried(4)
        let next = slots.state.seen + 1
        let offers = (0..<20).map { offer(UInt64(next) + $0, qos) }
        slots.offered(Offers(first: next, offers: offers), coordinator: 7, now: .zero)
        let started = run(&slots).count
        #expect(started == (qos == .default ? 4 : 8))
        #expect(slots.held.count == 20)
        #expect(slots.tick(now: .zero + SlotScheduler.timeout).isEmpty)
        let late = slots.tick(now: .zero + SlotScheduler.timeout + .nanoseconds(1))
        #expect(late == offers[started...].map(\.id))
        for id in late { release(&slots, id) }
        #expect(slots.held.count == started)
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
                slots.offered(
                    Offers(first: number, offers: [offer]), coordinator: 1, now: MonotonicTime(nanoseconds: Int64(step))
                )
                number += 1
            }
            if let id = executing.keys.min(by: { $0.low &* 7919 % 13 < $1.low &* 7919 % 13 }), random.next() % 2 == 0 {
                finish(&slots, id.low)
                executing[id] = nil
            }
            let decision = slots.begin(now: .zero)
            for claim in decision.claims {
                if random.next() % 8 == 0 {
                    slots.held.refused(claim.id)
                } else {
                    slots.claimed(execution(of: claim), Scripted(type: "noop"), now: .zero)
                }
            }
            let numbers = start(decision, in: &slots) + start(value(slots.begin(now: .zero)), in: &slots)
            for number in numbers {
                let id = CommandID(high: 1, low: number)
                executing[id] = known[id]
            }
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
func value<Value>(_ value: Value) -> Value { value }
