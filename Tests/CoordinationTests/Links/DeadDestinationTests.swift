import Commands
import Host
import NetworkControl
import Store
import Testing
import Wire

@testable import Coordination

/// The work of a coordinator beside many destinations that are offline, counted on a virtual clock.
@Suite struct DeadDestinationTests: DispatcherFixtures {
    /// The work of a coordinator in a time.
    private struct Work: Equatable {
        var attempts = 0
        var lookUps = 0
        var preparedProbes = 0
        var examinedLinks = 0
        /// Links that were reported as changed.
        var changes = 0
    }

    private static let seconds = 20

    private func dead(_ number: Int) -> Destination {
        Destination(scheme: "http", host: "127.1.\(number / 250).\(number % 250)", port: 9)
    }

    /// A dispatcher with offline links that another coordinator left, and a command for each.
    private func bed(_ count: Int) -> Dispatcher {
        var dispatcher = dispatcher(seats: 2, concurrency: 32)
        let history = LinkHistory(reference: 0, flows: 1, limit: 1, offline: LinkReason(.unmeasured))
        for number in 0..<count {
            dispatcher.links.restore(history, of: LinkKey(dead(number), .up), now: .zero)
            dispatcher.insert([ready(Int64(number + 1), to: dead(number), shard: UInt8(number % 8))])
        }
        return dispatcher
    }

    /// Each attempt fails at once.
    private func run(_ dispatcher: inout Dispatcher) -> Work {
        var work = Work()
        let prepared = dispatcher.preparedProbes
        var (seen, resolved) = ([Int64(0), 0], [Int64(0), 0])
        for step in 1...(Self.seconds * 20) {
            let now = after(Double(step) / 20)
            if step % 5 == 0 {
                dispatcher.networkTick(minuteOfDay: 0, now: now)
                work.examinedLinks += dispatcher.links.controller.examined.count
                work.changes += dispatcher.links.takeChanged().count
                dispatcher.expireProbes(now: now)
            }
            if step % 100 == 0 { dispatcher.wakeLiving() }
            for dispatch in dispatcher.dispatch(at: at + (now - .zero), now: now) {
                for offer in dispatch.offers.offers {
                    work.attempts += 1
                    seen[dispatch.seat] += 1
                    resolved[dispatch.seat] += 1
                    let number = Int(offer.id.high)
                    let command = ready(Int64(number), to: dead(number - 1), shard: UInt8((number - 1) % 8))
                    dispatcher.transition(report(command, .queued), now: now)
                    dispatcher.transition(report(command, .new, fault: .link, reason: "refused"), now: now)
                }
            }
            for seat in 0..<2 {
                var state = WorkerState()
                (state.coordinator, state.seen, state.resolved) = (1, seen[seat], resolved[seat])
                dispatcher.report(seat: seat, state: state, coordinator: 1, now: now)
            }
            let wanted = dispatcher.takeWanted()
            work.lookUps += wanted.count
            dispatcher.insert(
                wanted.map { ready(Int64($0.high), to: dead(Int($0.high) - 1), shard: UInt8((Int($0.high) - 1) % 8)) },
                now: now)
        }
        work.preparedProbes = dispatcher.preparedProbes - prepared
        return work
    }

    @Test func `the work of a second does not grow with the number of dead destinations`() {
        var few = bed(1000)
        var many = bed(6000)
        let (fewWork, manyWork) = (run(&few), run(&many))
        let maxAttempts = Int(ProbeBudget.rate) * Self.seconds + Int(ProbeBudget.burst)
        #expect(manyWork.attempts <= maxAttempts && manyWork.attempts >= maxAttempts / 2, "\(manyWork)")
        #expect(manyWork.preparedProbes <= manyWork.attempts + Int(ProbeBudget.burst), "\(manyWork)")
        #expect(manyWork.lookUps <= manyWork.attempts * 2 && manyWork.changes == 0, "\(manyWork)")
        // A link whose attempt has failed is looked at once more; the others in turn.
        #expect(manyWork.examinedLinks <= fewWork.examinedLinks * 11 / 10 + 100, "\(fewWork), \(manyWork)")
    }

    @Test func `a start beside dead destinations looks at few of their links, and reports none as changed`() {
        var dispatcher = bed(2000)
        dispatcher.networkTick(minuteOfDay: 0, now: after(0.25))
        #expect(dispatcher.links.takeChanged().isEmpty)
        #expect(dispatcher.links.controller.examined.count <= 300)
        #expect(dispatcher.links.controller.level(of: LinkKey(dead(7), .up)) == .offline)
    }

    @Test func `a destination that answers but refuses is probed in its time beside dead ones`() {
        var dispatcher = bed(2000)
        let commands = (1...2).map { ready(100_000 + $0, to: host) }
        dispatcher.insert(commands)
        _ = dispatcher.dispatch(at: at, now: .zero)
        var refused = report(commands[0], .new, fault: .destination, reason: "507")
        refused.isAnswer = true
        dispatcher.transition(refused, now: .zero)
        dispatcher.insert([commands[0]], now: .zero)
        for step in 1...244 where dispatcher.inFlight[commands[0].id] == nil {
            let now = after(Double(step) / 4)
            dispatcher.networkTick(minuteOfDay: 0, now: now)
            _ = dispatcher.dispatch(at: at + (now - .zero), now: now)
        }
        let isProbed = commands.contains { dispatcher.inFlight[$0.id]?.since ?? .zero >= after(59) }
        #expect(isProbed)
    }

    @Test func `pauses that are read again and are the same ask admission about no destination`() {
        var dispatcher = bed(300)
        let paused = [Pause(qos: .background, destination: nil, since: "now")]
        dispatcher.pause(paused)
        for step in 1...20 { _ = dispatcher.dispatch(at: at, now: after(Double(step) / 1000)) }
        #expect(dispatcher.queue.rotatingGroups(.middle, 1000).isEmpty)
        dispatcher.pause(paused)
        dispatcher.wakeLiving()
        #expect(dispatcher.queue.rotatingGroups(.middle, 1000).isEmpty)
        dispatcher.pause([])
        #expect(dispatcher.queue.rotatingGroups(.middle, 1000).count > 200)
    }
}
