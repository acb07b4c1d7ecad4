import Commands

/// The state of the simulated network at a time. Rates are in bytes per second, times in seconds.
struct Weather: Sendable {
    /// Capacity of the shared uplink; 0 is a blackout.
    var capacity = 12_500_000.0
    var rtt = 0.05
    var loss = 0.0
    /// In a blackout, connects are refused at once; otherwise they time out.
    var refuses = false
}

/// One simulated server.
struct Server: Sendable {
    /// Bytes per second of all connections, and of each.
    var capacity = 1e12
    var connectionCapacity = 1e12
    /// Seconds from the end of the request to the response.
    var responseTime = 0.1
    /// Answers 503 above this number of connections.
    var maxConnections = Int.max
    /// Mean size of low-priority files in bytes, log-normal with σ 0.8; 0: no low transfers.
    var fileSize = 2_000_000.0
    var isResumable = true
    /// Qualities of the backlog, in turn.
    var qualities: [QualityOfService] = [.utility]
}

/// One simulated transfer. Rates are fluid: there are no packets, but slow start, pacing, and the bytes in
/// the kernel's buffers when a transfer is held back.
struct Flow: Sendable {
    enum Phase: Sendable, Equatable {
        case connecting(until: Double)
        case body
        case responding(until: Double)
    }

    let id: CommandID
    let server: Int
    let qos: QualityOfService
    let size: Double
    let began: Double
    var worker = 0
    /// Where this execution began.
    var offset = 0.0
    var phase = Phase.body
    /// The connect time and the window at its beginning.
    var connectTime = 0.0
    private(set) var firstWindow = FluidNetwork.firstWindow
    var window = FluidNetwork.firstWindow
    var sent = 0.0
    /// Bytes that the kernel still sends when the writer stops.
    var backlog = 0.0
    var pace: Double?
    /// It lost its packets in a blackout and tries again then.
    var resumesAt = 0.0
    var progressAt: Double
    var cap = 0.0
    var rate = 0.0
    /// Bytes of the last step.
    var moved = 0.0

    init(id: CommandID, server: Int, qos: QualityOfService, size: Double, began: Double) {
        self.id = id
        self.server = server
        self.qos = qos
        self.size = size
        self.began = began
        progressAt = began
    }

    /// Begins with the window of an idle connection.
    mutating func reuse(window: Double) {
        firstWindow = window
        self.window = window
    }

    var remaining: Double { size - offset - sent }
}

/// The flows over one shared uplink, advanced in steps. They have max-min shares, as with TCP on average.
struct FluidNetwork {
    static let step = 0.05
    static let kernelBacklog = 40_000.0
    static let firstWindow = 14_600.0

    var flows: [Flow] = []
    let servers: [Server]

    /// Advances all flows by a step. - Returns: bytes that arrived.
    mutating func advance(now: Double, weather: Weather, noise: Double) -> Double {
        var perServer = [Int](repeating: 0, count: servers.count)
        for index in flows.indices where flows[index].phase == .body { perServer[flows[index].server] += 1 }
        for index in flows.indices {
            flows[index].rate = 0
            flows[index].cap = 0
            flows[index].moved = 0
            guard flows[index].phase == .body else { continue }
            flows[index].cap = cap(flows[index], now: now, weather: weather, on: perServer[flows[index].server])
        }
        share(weather.capacity * noise)
        var moved = 0.0
        let growth = 1 + Self.step / weather.rtt
        for index in flows.indices where flows[index].phase == .body {
            let bytes = min(flows[index].rate * Self.step, flows[index].remaining)
            moved += bytes
            flows[index].sent += bytes
            flows[index].moved = bytes
            if bytes > 0 { flows[index].progressAt = now }
            if let pace = flows[index].pace {
                flows[index].backlog = max(flows[index].backlog - max(bytes - pace * Self.step, 0), 0)
            } else {
                flows[index].backlog = min(Self.kernelBacklog, flows[index].remaining)
            }
            // Slow start, while the window is the limit.
            if flows[index].rate > 0.9 * flows[index].window / weather.rtt {
                flows[index].window = min(flows[index].window * min(growth, 4), 4e6)
            }
            if flows[index].remaining < 1 {
                flows[index].phase = .responding(
                    until: now + servers[flows[index].server].responseTime + weather.rtt)
            }
        }
        return moved
    }

    private func cap(_ flow: Flow, now: Double, weather: Weather, on count: Int) -> Double {
        guard weather.capacity > 0, now >= flow.resumesAt else { return 0 }
        let server = servers[flow.server]
        var cap = min(flow.window / weather.rtt, server.connectionCapacity, server.capacity / Double(max(count, 1)))
        // Mathis et al. 1997: 1.22 segments per round trip and root of the loss.
        if weather.loss > 0 { cap = min(cap, 1460 * 1.22 / (weather.rtt * weather.loss.squareRoot())) }
        if let pace = flow.pace, flow.backlog < 1 { cap = min(cap, pace) }
        return min(cap, flow.remaining / Self.step + 1)
    }

    private mutating func share(_ capacity: Double) {
        var left = capacity
        var open = flows.indices.filter { flows[$0].cap > 0 }
        while !open.isEmpty, left > 1 {
            let even = left / Double(open.count)
            var rest: [Int] = []
            for index in open {
                if flows[index].cap <= even {
                    flows[index].rate = flows[index].cap
                    left -= flows[index].cap
                } else {
                    rest.append(index)
                }
            }
            if rest.count == open.count {
                for index in rest { flows[index].rate = even }
                return
            }
            open = rest
        }
    }
}
