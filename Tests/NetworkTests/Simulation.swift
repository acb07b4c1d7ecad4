import Commands
import TestSupport
import Testing

@testable import NetworkControl

/// A shared link, two workers and a dispatcher on a virtual clock, governed by the network controller. Everything random comes
/// from the seed.
struct Simulation {
    struct Scenario: Sendable {
        var name: String
        var duration = 60.0
        var servers = [Server()]
        var weather: @Sendable (Double) -> Weather = { _ in Weather() }
        /// High quality: its server, size in bytes, and every so many seconds; 0 seconds: one after the other.
        var high: (server: Int, size: Double, every: Double)?
        /// Seconds that count for nothing.
        var warmUp = 0.0
        /// Low transfers that begin; nil: without end.
        var files: Int?
        var policy = NetworkPolicy()
        var tuning = ConcurrencyController.Tuning()
        /// Not as measured, but always so many.
        var fixed: Int?
    }

    struct Figures: Sendable {
        /// Bytes that arrived after the warm-up, and that could have.
        var moved = 0.0
        var possible = 0.0
        var movedByServer: [Double] = []
        var limits: [Int] = []
        /// Levels entered, with their time.
        var levels: [(at: Double, level: LinkLevel)] = []
        var probes: [Double] = []
        var waves: [Double] = []
        /// Seconds of each high transfer against its seconds alone.
        var slowdowns: [Double] = []
        var resent = 0.0
        var requests = 0
        var rejected = 0
        var lateRejected = 0
        var lateRequests = 0
        var longestStandstill = 0.0
        var finishedLow = 0
        /// Goodput of each tick, to find recoveries in.
        var rates: [(at: Double, rate: Double)] = []
        var estimates: [(at: Double, estimate: Double)] = []

        var share: Double { moved / max(possible, 1) }
        var meanLimit: Double { Double(limits.reduce(0, +)) / Double(max(limits.count, 1)) }

        /// Seconds from `start` until a second at the share of the capacity.
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

    private let scenario: Scenario
    private let seed: UInt64
    private let destinations: [Destination]
    private let keys: [LinkKey]
    private var random: SeededRandom
    private var network: NetworkController
    private var fluid: FluidNetwork
    private var decisions = NetworkDecisions()
    private(set) var figures = Figures()
    private var number: UInt64 = 0
    private var now = 0.0
    private var counters: [[LinkCounter]]
    private var movedBefore = 0.0
    private var moved = 0.0
    private var began = 0
    /// Cut ones wait to go on; their offset, size and last progress.
    /// Idle connections of each server, by their windows.
    private var connections: [Int: [Double]] = [:]
    private var released:
        [Int: [(id: CommandID, size: Double, offset: Double, qos: QualityOfService, progressAt: Double)]] =
            [:]
    private var highPending: [(at: Double, id: CommandID)] = []
    private var nextHigh = 1.0
    private var lastProbeEnd: Double?
    private var noise = 1.0
    private var blackoutBegan: Double?
    private var lastLevel = LinkLevel.unknown
    private var highStarted: [CommandID: Double] = [:]

    init(_ scenario: Scenario, seed: UInt64) {
        self.scenario = scenario
        self.seed = seed
        random = SeededRandom(seed: seed)
        network = NetworkController(policy: scenario.policy, tuning: scenario.tuning, seed: seed)
        fluid = FluidNetwork(servers: scenario.servers)
        destinations = scenario.servers.indices.map { Destination(scheme: "http", host: "server\($0)", port: 80) }
        keys = destinations.map { LinkKey($0, .up) }
        figures.movedByServer = scenario.servers.map { _ in 0 }
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

    private var clock: Int64 { Int64(now * 1e9) }

    private mutating func advance(_ step: Int) {
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
        if now >= scenario.warmUp {
            figures.moved += bytes
            figures.possible += weather.capacity * FluidNetwork.step
        }
        // Workers report and the coordinator ticks in rhythms of their own, 4 times a second.
        if step % 5 == 1 { report(0, weather) }
        if step % 5 == 3 { report(1, weather) }
        if step % 5 == 4 { tick(weather) }
    }

    private mutating func count(_ flow: Flow) {
        let index = flow.server * 3 + flow.qos.serviceClass.rawValue
        counters[flow.worker][index].bytes += Int64(flow.moved)
        if now >= scenario.warmUp { figures.movedByServer[flow.server] += flow.moved }
    }

    // MARK: Workers

    private mutating func obey() {
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

    private mutating func release(_ flow: Flow) {
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

    private mutating func report(_ worker: Int, _ weather: Weather) {
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
            sample.srtt = Int64((weather.rtt + queue) * 1e9)
            sample.minRTT = Int64(weather.rtt * 1e9)
            sample.isResumable = scenario.servers[flow.server].isResumable
            if let pace = flow.pace { sample.state = pace == 0 ? .paused : .throttled }
            return sample
        }
        network.report(worker: Int64(worker) + 1, transfers: samples, counters: counters[worker], now: clock)
    }

    // MARK: Dispatcher

    private mutating func dispatch(_ weather: Weather) {
        for server in scenario.servers.indices where scenario.servers[server].fileSize > 0 {
            let key = keys[server]
            while hasBacklog(server) {
                let others = fluid.flows.count { $0.server == server && $0.qos.serviceClass != .high }
                let isOffline = network.links[key].map { $0.level == .offline } ?? false
                let qos = nextQuality(server)
                guard network.admits(qos, to: key, now: clock) else { break }
                let allowance =
                    decisions.allowances[key] ?? LinkAllowance(level: .unknown, places: 4, lowPlaces: 4)
                let low = fluid.flows.count { $0.server == server && $0.qos.serviceClass == .low }
                guard isOffline || allowance.admits(qos, others: others, low: low) else { break }
                if isOffline { figures.probes.append(now) }
                begin(server, qos, weather)
                if isOffline { break }
            }
        }
    }

    private func hasBacklog(_ server: Int) -> Bool {
        released[server]?.isEmpty == false || scenario.files.map { began < $0 } ?? true
    }

    private func nextQuality(_ server: Int) -> QualityOfService {
        if let first = released[server]?.first { return first.qos }
        let qualities = scenario.servers[server].qualities
        return qualities[began % qualities.count]
    }

    private mutating func begin(_ server: Int, _ qos: QualityOfService, _ weather: Weather) {
        if released[server]?.isEmpty == false, let one = released[server]?.removeFirst() {
            start(one.id, server, one.qos, size: one.size, offset: one.offset, progressAt: one.progressAt, weather)
        } else {
            began += 1
            let size = scenario.servers[server].fileSize * logNormal()
            start(newID(), server, qos, size: size, offset: 0, progressAt: now, weather)
        }
    }

    private mutating func start(
        _ id: CommandID, _ server: Int, _ qos: QualityOfService, size: Double, offset: Double, progressAt: Double,
        _ weather: Weather
    ) {
        let key = keys[server]
        network.offered(id, to: key, now: clock)
        figures.requests += 1
        let isLate = now > scenario.duration / 3
        if isLate { figures.lateRequests += 1 }
        let connections = fluid.flows.count { $0.server == server }
        if connections >= scenario.servers[server].mostConnections {
            figures.rejected += 1
            if isLate { figures.lateRejected += 1 }
            released[server, default: []].append((id, size, offset, qos, progressAt))
            network.ended(id, to: key, outcome: .pushedBack(reason: "503"), now: clock)
            decisions = network.decide(now: clock)
            return
        }
        let isDead = weather.capacity <= 0
        let reused = isDead ? nil : self.connections[server]?.popLast()
        let connecting = isDead ? (weather.refuses ? 0 : 2) : reused == nil ? 2 * weather.rtt : 0
        fluid.flows.append(
            Flow(
                id: id, server: server, qos: qos, size: size, worker: Int(number % 2), offset: offset, began: now,
                phase: connecting > 0 ? .connecting(until: now + connecting) : .body, connectTime: connecting,
                firstWindow: reused ?? FluidNetwork.firstWindow, window: reused ?? FluidNetwork.firstWindow,
                progressAt: progressAt))
    }

    private mutating func finish(_ weather: Weather) {
        var ended: [CommandID] = []
        for index in fluid.flows.indices {
            let flow = fluid.flows[index]
            if flow.qos.serviceClass == .low {
                figures.longestStandstill = max(figures.longestStandstill, now - flow.progressAt)
            }
            switch flow.phase {
            case .connecting(let until) where now >= until:
                if weather.capacity > 0 {
                    fluid.flows[index].phase = .body
                } else {
                    ended.append(flow.id)
                    fail(flow, weather)
                }
            case .responding(let until) where now >= until && weather.capacity > 0:
                ended.append(flow.id)
                connections[flow.server, default: []].append(flow.window)
                if flow.qos.serviceClass == .low { figures.finishedLow += 1 }
                if let start = highStarted.removeValue(forKey: flow.id) { measure(flow, start, weather) }
                network.ended(flow.id, to: keys[flow.server], outcome: .answered, now: clock)
            case .body where weather.capacity <= 0 && weather.refuses,
                .responding where weather.capacity <= 0 && weather.refuses:
                // A reset, as a firewall sends it.
                ended.append(flow.id)
                fail(flow, weather)
            case .connecting, .responding, .body: break
            }
        }
        guard !ended.isEmpty else { return }
        let gone = Set(ended)
        fluid.flows.removeAll { gone.contains($0.id) }
    }

    private mutating func fail(_ flow: Flow, _ weather: Weather) {
        let isResumable = scenario.servers[flow.server].isResumable
        if !isResumable { figures.resent += flow.sent }
        let offset = isResumable ? flow.offset + flow.sent : 0
        released[flow.server, default: []].insert((flow.id, flow.size, offset, flow.qos, flow.progressAt), at: 0)
        let reason = weather.refuses ? "connection refused" : "connect timed out"
        network.ended(flow.id, to: keys[flow.server], outcome: .unreachable(reason: reason), now: clock)
    }

    /// The kernel sends again after 0.3 s, and doubles that: what sat the outage out goes on at the next such time.
    private mutating func comeBack(outage: Double) {
        var wait = 0.3
        while wait < outage { wait *= 2 }
        for index in fluid.flows.indices where fluid.flows[index].began < now - outage {
            fluid.flows[index].resumesAt = now - outage + wait
        }
        for index in fluid.flows.indices {
            if case .connecting(let until) = fluid.flows[index].phase {
                // The second SYN goes out a second after the first.
                let second = until - 1
                fluid.flows[index].phase = .connecting(until: second > now ? second + 0.1 : until)
            }
        }
    }

    // MARK: High quality

    private mutating func beginHigh(_ weather: Weather) {
        guard let high = scenario.high else { return }
        if now >= nextHigh {
            let isIdle = highStarted.isEmpty && highPending.isEmpty
            if high.every > 0 || isIdle {
                nextHigh = high.every > 0 ? nextHigh + high.every : now
                let id = newID()
                let key = keys[high.server]
                let made = network.arrived(id, to: key, qos: .userInitiated, bytes: Int64(high.size), now: clock)
                if let made { adopt(made) }
                highPending.append((now, id))
                return
            }
        }
        for pending in highPending where network.admits(.userInitiated, to: keys[high.server], now: clock) {
            highStarted[pending.id] = pending.at
            start(pending.id, high.server, .userInitiated, size: high.size, offset: 0, progressAt: now, weather)
        }
        highPending = []
    }

    private mutating func measure(_ flow: Flow, _ start: Double, _ weather: Weather) {
        guard start >= scenario.warmUp else { return }
        var alone = FluidNetwork(servers: scenario.servers)
        var copy = flow
        copy.sent = 0
        copy.window = flow.firstWindow
        copy.pace = nil
        copy.phase = .body
        alone.flows = [copy]
        var time = flow.connectTime
        while alone.flows[0].phase == .body {
            _ = alone.advance(now: 1e9, weather: weather, noise: 1)
            time += FluidNetwork.step
        }
        time += scenario.servers[flow.server].responseTime + weather.rtt
        figures.slowdowns.append((now - start) / time)
    }

    // MARK: The coordinator

    private mutating func tick(_ weather: Weather) {
        for server in scenario.servers.indices where scenario.servers[server].fileSize > 0 {
            let counts = hasBacklog(server) ? [nextQuality(server): 100] : [:]
            network.setWaiting(counts, for: keys[server], now: clock)
        }
        let before = network.links
        adopt(network.tick(now: clock))
        if let fixed = scenario.fixed {
            for key in decisions.allowances.keys { decisions.allowances[key]?.places = fixed }
        }
        check(before)
        let key = keys[0]
        figures.rates.append((now, (moved - movedBefore) / 0.25))
        movedBefore = moved
        figures.limits.append(network.links[key]?.concurrency.limit ?? 0)
        if let estimate = network.links[key]?.estimator.estimate { figures.estimates.append((now, estimate)) }
        let level = network.level(of: key)
        if level != lastLevel { figures.levels.append((now, level)) }
        lastLevel = level
    }

    private mutating func adopt(_ new: NetworkDecisions) {
        let ordered = Set(decisions.orders.map(\.id))
        decisions = new
        guard network.level(of: keys[0]) != .offline, new.orders.contains(where: { !ordered.contains($0.id) }) else {
            return
        }
        if let last = figures.waves.last, now - last < 4.999 { complain("two waves, the first at \(last) s") }
        figures.waves.append(now)
    }

    /// What must hold in every scenario, whatever the seed.
    private mutating func check(_ before: [LinkKey: LinkController]) {
        for (key, link) in network.links where key.destination != nil {
            let limit = link.concurrency.limit
            if !(1...32).contains(limit) { complain("the limit is \(limit)") }
            guard let old = before[key]?.concurrency.limit, limit > old, before[key]?.level != .offline else {
                continue
            }
            if !link.lastTick.isSaturated(at: old) { complain("the limit rose from \(old) without saturation") }
            if link.lastTick.hasHigh || link.lastTick.highRate > 0 {
                complain("a tick of high quality raised the limit")
            }
            if link.lastTick.isSteered { complain("a tick with pacing raised the limit") }
        }
        let places = decisions.allowances.values.reduce(0) { $0 + $1.places }
        if places > scenario.policy.globalLimit { complain("there are \(places) places") }
        let isOffline = network.level(of: keys[0]) == .offline
        if isOffline, let since = [figures.probes.last, figures.levels.last?.at].compactMap({ $0 }).max() {
            if now - since > 30.5 { complain("no probe since \(since) s") }
        }
    }

    private func complain(_ what: String) { Issue.record("\(scenario.name), seed \(seed), after \(now) s: \(what)") }

    private mutating func newID() -> CommandID {
        number += 1
        return CommandID(high: number, low: number)
    }

    /// Mean 1, σ 0.8: two of Box and Muller's without Foundation, by the sum of twelve.
    private mutating func logNormal() -> Double {
        var sum = -6.0
        for _ in 0..<12 { sum += random.fraction() }
        return exponential(0.8 * sum - 0.32)
    }

    private func exponential(_ x: Double) -> Double {
        var result = 1 + x / 1024
        for _ in 0..<10 { result *= result }
        return result
    }
}
