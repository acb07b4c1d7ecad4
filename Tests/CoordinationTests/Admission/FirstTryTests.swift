import Commands
import Host
import NetworkControl
import Store
import TestSupport
import Testing
import Wire

@testable import Coordination

/// Destinations that were never tried, beside any number of dead ones, on a virtual clock. Other ways into the same
/// wait are here too: dead ones that have failed before, low QoS, a change of routes, and a new coordinator.
@Suite struct FirstTryTests: DispatcherFixtures {
    /// Two workers of 8 slots. An attempt at a dead destination lasts 40 s, as a look-up of two silent name servers.
    private struct Bed: DispatcherFixtures {
        static let step: Duration = .milliseconds(50)
        var dispatcher: Dispatcher
        var now = MonotonicTime.zero
        var number: Int64 = 0
        var commands: [CommandID: ReadyCommand] = [:]
        var dead: Set<Destination> = []
        var running: [CommandID: (command: ReadyCommand, seat: Int, since: MonotonicTime)] = [:]
        var arrived: [Destination: MonotonicTime] = [:]
        var started: [Destination: Duration] = [:]
        var (seen, resolved) = ([0, 0], [0, 0])

        init() {
            dispatcher = Dispatcher(shardCount: 8)
            for seat in 0..<2 {
                let hello = Hello(
                    pid: 1, startTime: 1, bootID: "b", concurrency: 8, types: ["noop"], executing: [])
                dispatcher.workerJoined(WorkerRecord(seat: seat, epoch: Int64(seat) + 1, hello: hello))
            }
        }

        mutating func submit(_ count: Int, _ qos: QualityOfService, isDead: Bool) -> [Destination] {
            (0..<count).map { _ in
                number += 1
                let host = Destination(scheme: "http", host: "h\(number)", port: 80)
                if isDead { dead.insert(host) }
                arrived[host] = now
                let command = ready(number, qos, to: host, shard: UInt8(number % 8))
                commands[command.id] = command
                dispatcher.insert([command], now: now)
                return host
            }
        }

        mutating func run(_ time: Duration) {
            let end = now + time
            while now < end {
                now += Self.step
                for (id, one) in running.sorted(by: { $0.key < $1.key }) {
                    let isDead = dead.contains(one.command.destination)
                    guard now - one.since >= (isDead ? .seconds(40) : .milliseconds(100)) else { continue }
                    finish(id, isDead ? .new : .success, isDead ? .link : nil)
                }
                for order in dispatcher.links.orders where order.verb == .release { finish(order.target.id, .new, nil) }
                report()
                for dispatch in dispatcher.dispatch(at: at + (now - .zero), now: now) {
                    for offer in dispatch.offers.offers { start(offer.id, dispatch.seat) }
                }
                let wanted = dispatcher.takeWanted()
                dispatcher.insert(wanted.compactMap { commands[$0] }, now: now)
            }
        }

        private mutating func start(_ id: CommandID, _ seat: Int) {
            guard let command = commands[id] else { return }
            seen[seat] += 1
            running[id] = (command, seat, now)
            if let since = arrived.removeValue(forKey: command.destination) {
                started[command.destination] = now - since
            }
            dispatcher.transition(report(command, .queued), now: now)
            dispatcher.transition(report(command, .sent), now: now)
        }

        private mutating func finish(_ id: CommandID, _ status: CommandStatus, _ fault: CommandFailure.Fault?) {
            guard let one = running.removeValue(forKey: id) else { return }
            resolved[one.seat] += 1
            dispatcher.transition(report(one.command, status, fault: fault, reason: "no answer"), now: now)
            if status == .new { dispatcher.insert([one.command], now: now) } else { commands[id] = nil }
        }

        private mutating func report() {
            for seat in 0..<2 {
                var state = WorkerState()
                (state.coordinator, state.seen, state.resolved) = (1, Int64(seen[seat]), Int64(resolved[seat]))
                dispatcher.report(seat: seat, state: state, coordinator: 1, now: now)
                guard now.nanoseconds % 250_000_000 == 0 else { continue }
                let mine = running.values.filter { $0.seat == seat }.sorted { $0.command.id < $1.command.id }
                let links = mine.map {
                    TransferReport.Link(
                        destination: $0.command.destination, direction: .up, bytes: [0, 0, 0], inFlight: 1)
                }
                let transfers = mine.enumerated().map { index, one in
                    var transfer = TransferReport.Transfer(
                        id: one.command.id, claim: 1, link: index, qos: one.command.qos)
                    transfer.isIdempotent = true
                    return transfer
                }
                dispatcher.links.report(
                    TransferReport(links: links, transfers: transfers), worker: Int64(seat) + 1, now: now)
            }
            if now.nanoseconds % 250_000_000 == 0 { dispatcher.networkTick(minuteOfDay: 0, now: now) }
        }
    }

    /// High QoS has slots of its own, so dead destinations of each class are tried beside newcomers of each class.
    @Test(
        .enabled(if: runsSlowTests, "slow"),
        arguments: [
            [QualityOfService.default], [.userInitiated], [.userInitiated, .default],
            [.userInteractive, .userInitiated, .default, .utility, .background],
        ])
    func `a destination that was never tried starts within a second, whatever number is dead`(
        _ dead: [QualityOfService]
    ) {
        var bed = Bed()
        for qos in dead { _ = bed.submit(200, qos, isDead: true) }
        // The dead ones are all new in the first rounds, and fail again in later ones.
        for pause in [Duration.milliseconds(100), .seconds(6)] {
            for qos in QualityOfService.allCases {
                bed.run(pause)
                let new = bed.submit(1, qos, isDead: false)[0]
                bed.run(.seconds(1))
                #expect(bed.started[new] != nil, "\(qos) after \(pause)")
            }
        }
        bed.run(.seconds(40))
        #expect(bed.dead.allSatisfy { bed.started[$0] != nil }, "every one of them had its try")
    }

    @Test(arguments: [QualityOfService.userInitiated, .default])
    func `dead destinations of one budget leave a slot to each class`(_ qos: QualityOfService) {
        var bed = Bed()
        _ = bed.submit(60, qos, isDead: true)
        bed.run(.seconds(3))
        let maxCount = ProbeBudget.maxSlots(of: bed.dispatcher.slots)
        #expect(bed.running.count <= maxCount)
        for other in QualityOfService.allCases {
            let new = bed.submit(1, other, isDead: false)[0]
            bed.run(.seconds(1))
            #expect(bed.started[new] != nil, "\(other)")
        }
    }

    @Test func `a destination that lives is not a first try after a change of its route`() {
        var dispatcher = dispatcher(concurrency: 8)
        let key = LinkKey(host, .up)
        dispatcher.insert([ready(1, to: host)])
        _ = dispatcher.dispatch(at: at, now: .zero)
        dispatcher.transition(report(ready(1, to: host), .success), now: .zero)
        #expect(dispatcher.links.controller.isProven(key))
        for route in [Route.local, .uplink("v0"), .uplink(""), .local] {
            dispatcher.links.routed(host, route, now: .zero)
            #expect(dispatcher.links.controller.isProven(key), "\(route)")
        }
    }

    @Test func `a destination that carried bytes is not a first try of the next coordinator`() {
        var links = LinkAdmission()
        links.restore(
            LinkHistory(reference: 1000, flows: 1, limit: 4, offline: nil), of: LinkKey(host, .up), now: .zero)
        #expect(links.controller.isProven(LinkKey(host, .up)))
    }
}
