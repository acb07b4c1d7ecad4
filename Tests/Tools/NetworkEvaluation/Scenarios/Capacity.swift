import Commands
import Host
import TestSupport

extension Scenario {
    /// The used share of links that do not change.
    static let capacity = [
        steady("steady-100", "steady 100 Mbit/s, 20 ms; files of 2 MB, answered after 0.1 s", bytes: 2_000_000, 95) {
            try await $0.set(.firstByteDelay(0.1))
        },
        steady("per-connection-cap", "100 Mbit/s, 10 Mbit/s per connection; files of 2 MB", bytes: 2_000_000, 95) {
            try await $0.set(.connectionRate(10e6))
        },
        steady("small-files", "100 Mbit/s; files of 200 kB, answered after 0.4 s", bytes: 200_000, 85) {
            try await $0.set(.firstByteDelay(0.4))
        },
    ]

    private static func steady(
        _ name: String, _ title: String, bytes: Int, _ target: Double,
        prepare: @escaping @Sendable (BedDestination) async throws -> Void
    ) -> Scenario {
        Scenario(
            name: name, title: title, uplink: .megabits(100, roundTrip: .milliseconds(20)),
            targets: [Target("goodput (%)", .atLeast(target))], minSeconds: 20
        ) { stage in
            try await prepare(stage.destinations[0])
            try await stage.startSluice()
            stage.start()
            try await stage.submitBacklog(of: bytes)
            try await stage.until(second: stage.seconds)
            let end = MonotonicTime.now
            let traffic = try await stage.traffic()
            let ceiling = stage.scenario.uplink.payloadCeiling
            // Without the first 5 s, in which the controller searches for the limit. A second figure includes
            // them.
            stage.record.set("goodput (%)", traffic.useful(from: stage.begin + .seconds(5), to: end) / ceiling * 100)
            stage.record.set("goodput from the start (%)", traffic.useful(from: stage.begin, to: end) / ceiling * 100)
            stage.record.set("requests at once", traffic.concurrency(from: stage.begin + .seconds(5), to: end))
            stage.note(traffic, kinds: ["low"])
        }
    }

    static let loss = Scenario(
        name: "loss", title: "loss 0 → 5 %, 20 Mbit/s, 50 ms", uplink: .megabits(20),
        targets: [
            Target("goodput with loss (Mbit/s)", .atLeast(0.95), relativeTo: .fixed32),
            Target("limit kept (%)", .atLeast(100)),
        ], minSeconds: 40
    ) { stage in
        try await stage.startSluice()
        stage.start()
        try await stage.submitBacklog(of: 2_000_000)
        try await stage.until(second: stage.seconds / 2)
        let limits = { stage.linkEvents().filter { $0.link != "*" }.compactMap(\.limit) }
        let before = limits().last
        var worse = stage.scenario.uplink
        worse.loss = 0.05
        let lossy = try await stage.change(worse, "5 % loss")
        try await stage.until(second: stage.seconds)
        let end = MonotonicTime.now
        let traffic = try await stage.traffic()
        stage.record.set("goodput with loss (Mbit/s)", traffic.useful(from: lossy + .seconds(3), to: end) * 8 / 1e6)
        stage.record.set(
            "goodput before (Mbit/s)", traffic.useful(from: stage.begin + .seconds(5), to: lossy) * 8 / 1e6)
        // A probe with a lower limit is not a reduction: the final limit counts.
        if let before, let after = limits().last {
            stage.record.set("limit kept (%)", min(1, Double(after) / Double(before)) * 100)
        }
        stage.record.set("requests at once, with loss", traffic.concurrency(from: lossy, to: end))
        stage.note(traffic, kinds: ["low"])
    }

    static let flap = Scenario(
        name: "flap", title: "50 ↔ 5 Mbit/s every 20 s", uplink: .megabits(50),
        targets: [Target("goodput (%)", .atLeast(90)), Target("level changes per real change", .atMost(1))],
        minSeconds: 80
    ) { stage in
        let (fast, slow) = (stage.scenario.uplink, EmulatedLink.megabits(5))
        try await stage.startSluice()
        stage.start()
        try await stage.submitBacklog(of: 2_000_000)
        var capacity = 0.0
        var last = (at: stage.begin, link: fast)
        for turn in 1..<Int(stage.seconds / 20) {
            try await stage.until(second: Double(turn) * 20)
            let link = turn % 2 == 1 ? slow : fast
            let at = try await stage.change(link)
            capacity += last.link.payloadCeiling * (at - last.at).seconds
            last = (at, link)
        }
        try await stage.until(second: stage.seconds)
        let end = MonotonicTime.now
        capacity += last.link.payloadCeiling * (end - last.at).seconds
        let traffic = try await stage.traffic()
        let useful = traffic.useful(from: stage.begin, to: end) * (end - stage.begin).seconds
        stage.record.set("goodput (%)", useful / capacity * 100)
        let levels = stage.linkEvents().filter { $0.link != "*" && $0.level != "unknown" }.map(\.level)
        if !levels.isEmpty {
            let changes = zip(levels, levels.dropFirst()).count { $0 != $1 }
            stage.record.set("level changes per real change", Double(changes) / Double(Int(stage.seconds / 20) - 1))
        }
        stage.note(traffic, kinds: ["low"])
    }
}
