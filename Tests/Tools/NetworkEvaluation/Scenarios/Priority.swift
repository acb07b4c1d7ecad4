import Commands
import Host
import Sluice
import TestSupport

extension Scenario {
    /// High QoS while eight low uploads run.
    static let priority = [
        high("high-20", .megabits(20), bytes: 2_500_000, p50: 1.15, p99: 1.5),
        high("high-2", .megabits(2), bytes: 250_000, isResumable: true, p50: 1.3, p99: 2),
        high("high-20-shared", .megabits(20), bytes: 2_500_000, isShared: true, p50: 1.3, p99: 2),
        high("high-2-shared", .megabits(2), bytes: 250_000, isResumable: true, isShared: true, p50: 1.3, p99: 2),
    ]

    private static func high(
        _ name: String, _ link: EmulatedLink, bytes: Int, isResumable: Bool = false, isShared: Bool = false,
        p50: Double, p99: Double
    ) -> Scenario {
        let rate = Int(link.rate! / 1e6)
        let title =
            "\(rate) Mbit/s, 50 ms, eight low uploads\(isResumable ? " (tus)" : ""), every 10 s a high one of "
            + "\((Double(bytes) / 1e6).short) MB\(isShared ? " to another destination over the same uplink" : "")"
        return Scenario(
            name: name, title: title, uplink: link, destinations: isShared ? [nil, nil] : [nil],
            targets: [Target("slowdown p50", .atMost(p50)), Target("slowdown p99", .atMost(p99))], isMain: !isShared,
            neighbours: rate > 10 ? 4 : .max
        ) { stage in
            try await stage.startSluice()
            let destination = isShared ? 2 : 1
            let period = 10.0
            let turns = max(1, Int((stage.seconds - 5) / period))
            let alone = try await stage.alone(of: bytes, times: min(turns, 5), every: period, to: destination)
            // No low upload ends before the run.
            let large = Int(link.payloadCeiling * (stage.seconds + 60))
            try await stage.submit(
                8, of: large, .utility, kind: "low", by: isResumable ? stage.resumable() : .put)
            let started = try await awaited("the low uploads") {
                try await stage.traffic().of("low").bytes > Int64(link.payloadCeiling / 4) ? MonotonicTime.now : nil
            }
            stage.start()
            var times: [Double] = []
            for turn in 0..<turns {
                try await stage.until(second: 5 + Double(turn) * period)
                stage.mark("high")
                let id = try await stage.submit(of: bytes, .userInteractive, kind: "high", to: destination)[0]
                times.append(try await stage.time(of: id))
            }
            try await stage.until(second: stage.seconds)
            let end = MonotonicTime.now
            let traffic = try await stage.traffic()
            let slowdowns = times.map { $0 / alone }
            stage.record.samples.append(("slowdown", slowdowns))
            stage.record.set("slowdown p50", slowdowns.median)
            stage.record.set("slowdown p99", slowdowns.quantile(0.99))
            stage.record.set("alone (s)", alone)
            let ceiling = link.payloadCeiling * (end - started).seconds
            stage.record.set("link used (%)", Double(traffic.bytes(from: started, to: end)) / ceiling * 100)
            stage.record.set(
                "low of the link (%)", Double(traffic.of("low").bytes(from: started, to: end)) / ceiling * 100)
            stage.note(traffic, kinds: ["high", "low"])
        }
    }

    /// The time until low transfers are throttled, measured in the network of the client, before queues and
    /// delay.
    static let reaction = Scenario(
        name: "reaction", title: "high priority committed → low priority throttled, 20 Mbit/s, 50 ms",
        uplink: .megabits(20), targets: [Target("reaction p99 (ms)", .atMost(250))],
        arms: [.ours, .withoutPreemption, .fixed8],
        neighbours: 0
    ) { stage in
        let link = stage.scenario.uplink
        try await stage.startSluice()
        try await stage.submit(
            8, of: Int(link.payloadCeiling * (stage.seconds + 60)), .utility, kind: "low", by: stage.resumable())
        try await until("the low uploads") {
            try await stage.traffic().of("low").bytes > Int64(link.payloadCeiling)
        }
        stage.start()
        var reactions: [Double] = []
        var missed = 0
        for turn in 0..<max(1, Int(stage.seconds / 6)) {
            try await stage.until(second: Double(turn) * 6)
            let id = try await stage.submit(of: 2_500_000, .userInteractive, kind: "high")[0]
            let committed = try await stage.client.timeline(id).first.map { stage.moment($0.at) } ?? .now
            stage.mark("high", at: committed)
            _ = try await stage.time(of: id)
            let sent = try await stage.sent("low", since: committed - .seconds(1))
            // The first tenth of a second in which low transfers send at most a quarter of the link.
            let limit = link.payloadCeiling * 0.25 * 0.1
            let found = stride(from: 0.0, to: 3, by: 0.01).first { wait in
                sent.bytes(from: committed + .seconds(wait), to: committed + .seconds(wait + 0.1)) <= limit
            }
            if let found { reactions.append(found * 1000) } else { missed += 1 }
        }
        stage.record.samples.append(("reaction (ms)", reactions))
        // A missing reaction counts as 3 s, its minimum.
        let all = reactions + [Double](repeating: 3000, count: missed)
        stage.record.set("reaction p50 (ms)", all.median)
        stage.record.set("reaction p99 (ms)", all.quantile(0.99))
        stage.note(try await stage.traffic(), kinds: ["high", "low"])
    }
}

extension Stage {
    /// The bytes that the client sends for a kind of transfer, by the connections of such requests. The bytes
    /// of a connection with both kinds count for the request that ran at the time.
    func sent(_ kind: String, since: MonotonicTime) async throws -> SentBytes {
        let requests = try await traffic().of(kind).requests
        let flows = try await bed.flows(since: since)
        return SentBytes(
            flows: flows.flatMap { flow in
                requests.filter { $0.clientPort == flow.clientPort }.map { request in
                    var steps = flow.sent
                    // The client sends the first bytes some time before the destination receives the request.
                    let first = (request.begin - .seconds(0.2)).nanoseconds / steps.step
                    let last = (request.end ?? .now).nanoseconds / steps.step
                    steps.steps.removeAll { $0.number < first || $0.number > last }
                    return steps
                }
            })
    }
}
