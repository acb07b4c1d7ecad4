import Commands
import Host
import TestSupport
import Testing

@testable import NetworkControl

/// A shared link, two workers and a dispatcher on a virtual clock, under the network controller. All chance
/// comes from the seed.
struct Simulation {
    struct Scenario: Sendable {
        var name: String
        var duration = 60.0
        var servers = [Server()]
        /// Mean size of the files that begin at a time, instead of the servers' sizes; 0: empty files.
        var fileSize: (@Sendable (Double) -> Double)?
        var weather: @Sendable (Double) -> Weather = { _ in Weather() }
        /// High transfers: their server, size in bytes, and the seconds between them; 0 seconds: one after
        /// the other.
        var high: (server: Int, size: Double, every: Double)?
        /// Seconds that are not counted.
        var warmUp = 0.0
        /// Number of low transfers; nil: without end.
        var files: Int?
        var policy = NetworkPolicy()
        var tuning = ConcurrencyController.Tuning()
        /// A fixed limit instead of the measured one.
        var fixed: Int?
    }

    struct Figures: Sendable {
        /// Bytes that arrived after the warm-up, and bytes that could have arrived.
        var moved = 0.0
        var possible = 0.0
        var movedByServer: [Double] = []
        var limits: [Int] = []
        /// Levels entered, with their time.
        var levels: [(at: Double, level: LinkLevel)] = []
        var probes: [Double] = []
        var lastCuts: [Double] = []
        /// Duration of each high transfer divided by its duration alone.
        var slowdowns: [Double] = []
        var resent = 0.0
        var requests = 0
        var rejected = 0
        var lateRejected = 0
        var lateRequests = 0
        var maxStandstill = 0.0
        /// When low transfers ended.
        var finished: [Double] = []
        /// Goodput of each tick, in which recoveries are found.
        var rates: [(at: Double, rate: Double)] = []
        var estimates: [(at: Double, estimate: Double)] = []

        /// Low transfers that ended per second, in a range of time.
        func finished(in time: Range<Double>) -> Double {
            Double(finished.count { time.contains($0) }) / (time.upperBound - time.lowerBound)
        }

        var share: Double { moved / max(possible, 1) }
        var meanLimit: Double { Double(limits.reduce(0, +)) / Double(max(limits.count, 1)) }

        /// Seconds from `start` until a second with the mean rate `rate`.
        func recovery(from start: Double, to rate: Double) -> Double {
            let recent = rates.filter { $0.at > start }
            for index in recent.indices.dropFirst(3) {
                let mean = recent[(index - 3)...index].reduce(0) { $0 + $1.rate } / 4
                if mean >= rate { return recent[index].at - start - 0.75 }
            }
            return .infinity
        }

        func detection(of level: LinkLevel, from start: Double) -> Double {
            levels.first { $0.at >= start && $0.level >= level }.map { $0.at - start } ?? .infinity
        }
    }

    let scenario: Scenario
    let seed: UInt64
    let destinations: [Destination]
    let keys: [LinkKey]
    var random: SeededRandom
    var network: NetworkController
    var fluid: FluidNetwork
    var decisions = NetworkDecisions()
    var figures = Figures()
    var number: UInt64 = 0
    var now = 0.0
    var counters: [[LinkCounter]]
    var movedBefore = 0.0
    var moved = 0.0
    var began = 0
    /// Idle connections of each server, by their windows.
    var connections: [Int: [Double]] = [:]
    /// Cut transfers that wait to be resumed.
    var released: [Int: [(id: CommandID, size: Double, offset: Double, qos: QualityOfService, progressAt: Double)]] =
        [:]
    var highPending: [(at: Double, id: CommandID)] = []
    var nextHigh = 1.0
    var lastProbeEnd: Double?
    var noise = 1.0
    var blackoutBegan: Double?
    var lastLevel = LinkLevel.unknown
    var highStarted: [CommandID: Double] = [:]
    /// The simulation's own figures of each server since the last tick, and between the two before it. The
    /// invariants are checked by these, not by the controller's figures.
    var seen: [Seen]
    var seenBefore: [Seen]

    struct Seen {
        /// The highest number of transfers of middle and low quality at once, and how many have ended.
        var peak = 0
        var ended = 0
        var steps = 0
        /// Steps with high quality under way.
        var highSteps = 0
    }

    init(_ scenario: Scenario, seed: UInt64) {
        self.scenario = scenario
        self.seed = seed
        random = SeededRandom(seed: seed)
        network = NetworkController(policy: scenario.policy, tuning: scenario.tuning, seed: seed)
        fluid = FluidNetwork(servers: scenario.servers)
        destinations = scenario.servers.indices.map { Destination(scheme: "http", host: "server\($0)", port: 80) }
        keys = destinations.map { LinkKey($0, .up) }
        figures.movedByServer = scenario.servers.map { _ in 0 }
        seen = scenario.servers.map { _ in Seen() }
        seenBefore = seen
        counters = [[], []]
        for worker in 0..<2 {
            for server in scenario.servers.indices {
                for serviceClass in ServiceClass.allCases {
                    counters[worker].append(
                        LinkCounter(destination: destinations[server], serviceClass: serviceClass, bytes: 0))
                }
            }
        }
    }

    /// Runs the scenario for one seed.
    static func run(_ scenario: Scenario, seed: UInt64) -> Figures {
        var simulation = Simulation(scenario, seed: seed)
        let steps = Int(scenario.duration / FluidNetwork.step)
        for step in 0..<steps { simulation.advance(step) }
        return simulation.figures
    }

    var clock: MonotonicTime { at(now) }

    mutating func advance(_ step: Int) {
        now = Double(step) * FluidNetwork.step
        let weather = scenario.weather(now)
        if step % 5 == 0 { noise = 1 + 0.04 * (random.fraction() - 0.5) }
        if weather.capacity <= 0, blackoutBegan == nil {
            blackoutBegan = now
            connections = [:]
        }
        if weather.capacity > 0, let began = blackoutBegan {
            comeBack(outage: now - began)
            blackoutBegan = nil
        }
        obey()
        finish(weather)
        beginHigh(weather)
        dispatch(weather)
        let bytes = fluid.advance(now: now, weather: weather, noise: noise)
        for flow in fluid.flows where flow.moved > 0 { count(flow) }
        moved += bytes
        for server in seen.indices { look(server) }
        if now >= scenario.warmUp {
            figures.moved += bytes
            figures.possible += weather.capacity * FluidNetwork.step
        }
        // Workers report and the coordinator ticks in rhythms of their own, 4 times a second.
        if step % 5 == 1 { report(0, weather) }
        if step % 5 == 3 { report(1, weather) }
        if step % 5 == 4 { tick(weather) }
    }

    private mutating func look(_ server: Int) {
        let flows = fluid.flows.filter { $0.server == server }
        let high = flows.count { $0.qos.serviceClass == .high }
        seen[server].peak = max(seen[server].peak, flows.count - high)
        seen[server].steps += 1
        if high > 0 { seen[server].highSteps += 1 }
    }

    mutating func count(_ flow: Flow) {
        let index = flow.server * 3 + flow.qos.serviceClass.rawValue
        counters[flow.worker][index].bytes += Int64(flow.moved)
        if now >= scenario.warmUp { figures.movedByServer[flow.server] += flow.moved }
    }

    // MARK: Workers

    mutating func obey() {
        var paces: [LinkKey: [QualityOfService: Double]] = [:]
        for pacing in decisions.pacing { paces[pacing.key, default: [:]][pacing.qos] = Double(pacing.bytesPerSecond) }
        for index in fluid.flows.indices {
            fluid.flows[index].pace = paces[keys[fluid.flows[index].server]]?[fluid.flows[index].qos]
        }
        guard !decisions.orders.isEmpty else { return }
        let cut = Set(decisions.orders.map(\.id))
        for flow in fluid.flows where cut.contains(flow.id) { release(flow) }
        fluid.flows.removeAll { cut.contains($0.id) }
    }

    mutating func release(_ flow: Flow) {
        let isResumable = scenario.servers[flow.server].isResumable
        let offset = isResumable ? flow.offset + flow.sent : 0
        if !isResumable { figures.resent += flow.sent }
        let isHigh = flow.qos.serviceClass == .high
        if isHigh {
            Issue.record("\(scenario.name), seed \(seed), after \(now) s: high quality was cut")
        } else {
            released[flow.server, default: []].append((flow.id, flow.size, offset, flow.qos, flow.progressAt))
        }
        network.ended(flow.id, to: keys[flow.server], outcome: .withdrawn, now: clock)
    }

    mutating func report(_ worker: Int, _ weather: Weather) {
        let used = fluid.flows.reduce(0) { $0 + $1.rate }
        // A full link has a queue of a tenth of a second, or of 200 kB where that is longer to drain.
        let isFull = used > 0.95 * weather.capacity && weather.capacity > 0
        let queue = isFull ? max(0.1, 100_000 / weather.capacity) : 0
        let samples = fluid.flows.filter { $0.worker == worker }.map { flow -> TransferSample in
            var sample = TransferSample(
                id: flow.id, destination: destinations[flow.server], qos: flow.qos)
            sample.acknowledged = Int64(flow.sent)
            sample.retransmitted = Int64(flow.sent * weather.loss)
            sample.remaining = Int64(max(flow.remaining, 0))
            if case .responding = flow.phase { sample.remaining = 0 }
            sample.srtt = .seconds(weather.rtt + queue)
            sample.minRTT = .seconds(weather.rtt)
            sample.isResumable = scenario.servers[flow.server].isResumable
            if let pace = flow.pace { sample.state = pace == 0 ? .paused : .throttled }
            return sample
        }
        network.report(worker: Int64(worker) + 1, transfers: samples, counters: counters[worker], now: clock)
    }

    // MARK: The coordinator

    mutating func tick(_ weather: Weather) {
        for server in scenario.servers.indices where scenario.servers[server].fileSize > 0 {
            let counts = hasBacklog(server) ? [nextQuality(server): 100] : [:]
            network.setWaiting(counts, for: keys[server], now: clock)
        }
        let before = network.links
        adopt(network.tick(now: clock))
        if let fixed = scenario.fixed {
            for key in decisions.allowances.keys { decisions.allowances[key]?.limit = fixed }
        }
        check(before)
        seenBefore = seen
        seen = seen.map { _ in Seen() }
        // A transfer that was cut and waits stands still too.
        for one in released.values.joined() where one.qos.serviceClass == .low {
            figures.maxStandstill = max(figures.maxStandstill, now - one.progressAt)
        }
        let key = keys[0]
        figures.rates.append((now, (moved - movedBefore) / 0.25))
        movedBefore = moved
        figures.limits.append(network.links[key]?.concurrency.limit ?? 0)
        if let estimate = network.links[key]?.estimator.estimate { figures.estimates.append((now, estimate)) }
        let level = network.level(of: key)
        if level != lastLevel { figures.levels.append((now, level)) }
        lastLevel = level
    }

    mutating func adopt(_ new: NetworkDecisions) {
        let ordered = Set(decisions.orders.map(\.id))
        decisions = new
        guard network.level(of: keys[0]) != .offline, new.orders.contains(where: { !ordered.contains($0.id) }) else {
            return
        }
        if let last = figures.lastCuts.last, now - last < 4.999 { complain("two waves, the first at \(last) s") }
        figures.lastCuts.append(now)
    }

    /// Checks the invariants of every scenario and seed.
    mutating func check(_ before: LinkTable) {
        for key in network.links.keys where key.destination != nil {
            guard let link = network.links[key] else { continue }
            let limit = link.concurrency.limit
            if !(1...scenario.policy.good.limit).contains(limit) { complain("the limit is \(limit)") }
            guard let old = before[key]?.concurrency.limit, limit > old, before[key]?.level != .offline else {
                continue
            }
            guard let server = keys.firstIndex(of: key) else { continue }
            let (recent, earlier) = (seen[server], seenBefore[server])
            if max(recent.peak, earlier.peak) < old, recent.ended + earlier.ended < old {
                complain("the limit rose from \(old) without saturation")
            }
            if recent.highSteps == recent.steps { complain("a tick of high quality raised the limit") }
            if link.lastInterval.isSteered { complain("a tick with pacing raised the limit") }
        }
        let isOffline = network.level(of: keys[0]) == .offline
        if isOffline, let since = [figures.probes.last, figures.levels.last?.at].compactMap({ $0 }).max() {
            if now - since > 30.5 { complain("no probe since \(since) s") }
        }
    }

    func complain(_ what: String) { Issue.record("\(scenario.name), seed \(seed), after \(now) s: \(what)") }
}
