import Commands
import Host
import Sluice
import TestSupport

extension Scenario {
    /// A blackout of half a minute.
    static let outages = [
        blackout("blackout-silent", "blackout of 30 s: silence") { try await $0.bed.blackout($1) },
        blackout("blackout-refused", "blackout of 30 s: connections reset and refused") {
            try await $0.destinations[0].set(.refusing($1))
        },
    ]

    private static func blackout(
        _ name: String, _ title: String, darken: @escaping @Sendable (Stage, Bool) async throws -> MonotonicTime
    ) -> Scenario {
        Scenario(
            name: name, title: "\(title), 20 Mbit/s, 50 ms, uploads of 4 MB by tus", uplink: .megabits(20),
            targets: [
                Target("recovered to 80 % after (s)", .atMost(3)), Target("attempts charged", .atMost(0)),
                Target("sent twice (%)", .atMost(0.5)),
            ], minSeconds: 75
        ) { stage in
            try await stage.startSluice()
            stage.start()
            try await stage.submitBacklog(of: 4_000_000, by: stage.resumable())
            try await stage.until(second: 15)
            stage.mark("dark", at: try await darken(stage, true))
            try await stage.until(second: 45)
            let light = try await darken(stage, false)
            stage.mark("light", at: light)
            try await stage.until(second: stage.seconds)
            let end = MonotonicTime.now
            let traffic = try await stage.traffic()
            stage.record.set(
                "recovered to 80 % after (s)",
                traffic.recovery(
                    to: stage.scenario.uplink.payloadCeiling * 0.8, after: light, within: (end - light).seconds - 1))
            stage.record.set("attempts charged", Double(try await stage.charged()))
            let (again, kept) = try await stage.repeated()
            stage.record.set("sent twice (%)", Double(again) / Double(max(1, kept)) * 100)
            stage.note(traffic, kinds: ["low"])
        }
    }

    static let kill: Scenario = {
        let slow = EmulatedLink.megabits(2)
        return Scenario(
            name: "kill", title: "100 → 2 → 100 Mbit/s, SIGKILL of the coordinator and a worker in between",
            uplink: .megabits(100),
            targets: [
                Target("lost", .atMost(0)), Target("sent twice, per transfer cut (KiB)", .atMost(256)),
                Target("level known again after (s)", .atMost(2)),
            ], arms: [.ours, .fixed8], minSeconds: 45
        ) { stage in
            let fast = stage.scenario.uplink
            try await stage.startSluice()
            stage.start()
            try await stage.submitBacklog(of: 2_000_000, seconds: stage.seconds / 3, by: stage.resumable())
            try await stage.until(second: stage.seconds / 4)
            try await stage.change(slow)
            try await stage.until(second: stage.seconds / 2)
            let running = try await stage.traffic().requests.count { $0.end == nil }
            let victims = try await [stage.workers().first, stage.coordinator()].compactMap { $0 }
            stage.kill(victims)
            let killed = MonotonicTime.now
            stage.mark("SIGKILL", at: killed)
            try await stage.until(second: stage.seconds * 3 / 4)
            let known = stage.link(after: killed) { $0.link != "*" && $0.level != "unknown" }
            stage.record.set("level known again after (s)", known.map { ($0.at - killed).seconds })
            try await stage.change(fast)
            let open = { try await stage.client.counts().filter { !$0.key.isFinal }.values.reduce(0, +) }
            try await until("the end of every upload", within: .seconds(300)) { try await open() == 0 }
            let counts = try await stage.client.counts()
            stage.record.set("lost", Double(stage.submitted.count - (counts[.success] ?? 0)))
            let (again, _) = try await stage.repeated()
            stage.record.set("sent twice, per transfer cut (KiB)", Double(again) / 1024 / Double(max(1, running)))
            stage.note(try await stage.traffic(), kinds: ["low"])
        }
    }()
}
