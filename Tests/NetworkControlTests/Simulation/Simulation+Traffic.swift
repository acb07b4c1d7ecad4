import Commands
import TestSupport

@testable import NetworkControl

/// The traffic: a backlog behind the dispatcher, files that end, fail and come back, and high transfers.
extension Simulation {
    // MARK: Dispatcher

    mutating func dispatch(_ weather: Weather) {
        for server in scenario.servers.indices where scenario.servers[server].fileSize > 0 {
            let key = keys[server]
            while hasBacklog(server) {
                let others = fluid.flows.count { $0.server == server && $0.qos.serviceClass != .high }
                let isOffline = network.links[key].map { $0.level == .offline } ?? false
                let qos = nextQuality(server)
                guard network.admits(qos, to: key, now: clock) else { break }
                let allowance =
                    decisions.allowances[key] ?? LinkAllowance(level: .unknown, limit: 4, lowLimit: 4)
                let low = fluid.flows.count { $0.server == server && $0.qos.serviceClass == .low }
                guard isOffline || allowance.admits(qos, others: others, low: low) else { break }
                if isOffline { figures.probes.append(now) }
                let rejected = figures.rejected
                begin(server, qos, weather)
                // A refused transfer is not sent again in the same step.
                if isOffline || figures.rejected > rejected { break }
            }
        }
    }

    func hasBacklog(_ server: Int) -> Bool {
        released[server]?.isEmpty == false || scenario.files.map { began < $0 } ?? true
    }

    func nextQuality(_ server: Int) -> QualityOfService {
        if let first = released[server]?.first { return first.qos }
        let qualities = scenario.servers[server].qualities
        return qualities[began % qualities.count]
    }

    mutating func begin(_ server: Int, _ qos: QualityOfService, _ weather: Weather) {
        if released[server]?.isEmpty == false, let one = released[server]?.removeFirst() {
            start(one.id, server, one.qos, size: one.size, offset: one.offset, progressAt: one.progressAt, weather)
        } else {
            began += 1
            let size = (scenario.fileSize?(now) ?? scenario.servers[server].fileSize) * logNormal()
            start(newID(), server, qos, size: size, offset: 0, progressAt: now, weather)
        }
    }

    mutating func start(
        _ id: CommandID, _ server: Int, _ qos: QualityOfService, size: Double, offset: Double, progressAt: Double,
        _ weather: Weather
    ) {
        let key = keys[server]
        network.offered(id, to: key, now: clock)
        figures.requests += 1
        let isLate = now > scenario.duration / 3
        if isLate { figures.lateRequests += 1 }
        let connections = fluid.flows.count { $0.server == server }
        if connections >= scenario.servers[server].maxConnections {
            figures.rejected += 1
            if isLate { figures.lateRejected += 1 }
            released[server, default: []].append((id, size, offset, qos, progressAt))
            network.ended(id, to: key, outcome: .pushedBack, now: clock)
            decisions = network.decide(now: clock)
            return
        }
        let isDead = weather.capacity <= 0
        let reused = isDead ? nil : self.connections[server]?.popLast()
        let connecting = isDead ? (weather.refuses ? 0 : 1) : reused == nil ? 2 * weather.rtt : 0
        var flow = Flow(id: id, server: server, qos: qos, size: size, began: now)
        flow.worker = Int(number % 2)
        flow.offset = offset
        flow.progressAt = progressAt
        flow.connectTime = connecting
        if connecting > 0 { flow.phase = .connecting(until: now + connecting) }
        if let reused { flow.reuse(window: reused) }
        fluid.flows.append(flow)
    }

    mutating func finish(_ weather: Weather) {
        var ended: [CommandID] = []
        for index in fluid.flows.indices {
            let flow = fluid.flows[index]
            if flow.qos.serviceClass == .low {
                figures.maxStandstill = max(figures.maxStandstill, now - flow.progressAt)
            }
            switch flow.phase {
            case .connecting(let until) where now >= until:
                // A SYN that was lost is sent again after 1, 3 and 7 s, and given up after 10.
                let next = [1.0, 3, 7, 10].first { flow.began + $0 > now + 0.001 }
                if weather.capacity > 0 {
                    fluid.flows[index].phase = .body
                } else if !weather.refuses, let next {
                    fluid.flows[index].phase = .connecting(until: flow.began + next)
                } else {
                    ended.append(flow.id)
                    fail(flow, weather)
                }
            case .responding(let until) where now >= until && weather.capacity > 0:
                ended.append(flow.id)
                connections[flow.server, default: []].append(flow.window)
                if flow.qos.serviceClass == .low { figures.finished.append(now) }
                if flow.qos.serviceClass != .high { seen[flow.server].ended += 1 }
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

    mutating func fail(_ flow: Flow, _ weather: Weather) {
        let isResumable = scenario.servers[flow.server].isResumable
        if !isResumable { figures.resent += flow.sent }
        let offset = isResumable ? flow.offset + flow.sent : 0
        released[flow.server, default: []].insert((flow.id, flow.size, offset, flow.qos, flow.progressAt), at: 0)
        let reason = weather.refuses ? "connection refused" : "connect timed out"
        network.ended(flow.id, to: keys[flow.server], outcome: .unreachable(reason: reason), now: clock)
    }

    /// The kernel sends again after 0.3 s, and doubles that: a transfer that survived the outage resumes at
    /// the next such time.
    mutating func comeBack(outage: Double) {
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

    mutating func beginHigh(_ weather: Weather) {
        guard let high = scenario.high else { return }
        if now >= nextHigh {
            let isIdle = highStarted.isEmpty && highPending.isEmpty
            if high.every > 0 || isIdle {
                nextHigh = high.every > 0 ? nextHigh + high.every : now
                let id = newID()
                let key = keys[high.server]
                let made = network.announce(id, to: key, qos: .userInitiated, bytes: Int64(high.size), now: clock)
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

    mutating func measure(_ flow: Flow, _ start: Double, _ weather: Weather) {
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

    // MARK: Chance

    mutating func newID() -> CommandID {
        number += 1
        return CommandID(high: number, low: number)
    }

    /// A log-normal number of mean 1 and σ 0.8, from the sum of twelve uniform ones: it needs no Foundation.
    mutating func logNormal() -> Double {
        var sum = -6.0
        for _ in 0..<12 { sum += random.fraction() }
        return exponential(0.8 * sum - 0.32)
    }

    func exponential(_ x: Double) -> Double {
        var result = 1 + x / 1024
        for _ in 0..<10 { result *= result }
        return result
    }
}
