import Commands
import Host
import Sluice
import TestSupport

extension Scenario {
    private static let fast = EmulatedLink.megabits(100)
    private static let slow = EmulatedLink.megabits(2)

    /// A link that becomes fifty times slower.
    static let changes = [dropClasses, dropLowOnly, dropRecover]

    /// Each connection is read at 8 Mbit/s, so that all ten run and do not fill the fast link.
    private static let dropClasses = Scenario(
        name: "drop-classes",
        title: "100 → 2 Mbit/s with running uploads of all five QoS, two of each, the low ones by tus",
        uplink: fast,
        targets: [
            Target("level after (s)", .atMost(1.5)), Target("default obeys after (s)", .atMost(1.5)),
            Target("low obeys after (s)", .atMost(1.5)), Target("explain names the level", .atLeast(1)),
            Target("cancelled after (s)", .atMost(1.5)),
        ], arms: [.ours, .withoutPreemption, .fixed8], startsItself: true
    ) { stage in
        let fast = stage.scenario.uplink
        try await stage.destinations[0].set(.connectionRate(8e6))
        stage.start()
        for cancels in [false, true] {
            try await stage.bed.change(fast)
            try await stage.startSluice(
                policy: cancels
                    ? ["network.level.degraded.background": "cancel", "network.level.poor.background": "cancel"] : [:])
            var ids: [QualityOfService: [CommandID]] = [:]
            let start = MonotonicTime.now
            // Submit high QoS last: while it runs, the controller does not raise the limit.
            for group in [[QualityOfService.default, .utility, .background], [.userInitiated, .userInteractive]] {
                for qos in group {
                    ids[qos] = try await stage.submit(
                        2, of: Int(fast.payloadCeiling * 60), qos, kind: "\(qos)",
                        by: qos == .utility || qos == .background ? stage.resumable() : .put)
                }
                try await until("traffic of \(group)") {
                    let traffic = try await stage.traffic()
                    return group.allSatisfy { traffic.of("\($0)").bytes(from: start, to: .now) > 4_000_000 }
                }
            }
            let running = try await stage.running(ids[.background]!)
            let changed = try await stage.change(slow)
            if cancels {
                try await stage.pause(5)
                stage.record.set("cancelled after (s)", try await cancelled(running, stage, changed))
            } else {
                try await stage.pause(2)
                var isNamed = true
                for qos in [QualityOfService.default, .utility, .background] {
                    let words = try await stage.sluice("explain", ids[qos]![0].description)
                    if !words.contains("is degraded") && !words.contains("is poor") {
                        isNamed = false
                        stage.record.notes.append("explain of \(qos) says: \(words)")
                    }
                }
                stage.record.set("explain names the level", isNamed ? 1 : 0)
                try await stage.pause(6)
                let level = stage.link(after: changed) { ["degraded", "poor"].contains($0.level) }
                stage.record.set("level after (s)", level.map { ($0.at - changed).seconds })
                // The policy's shares for a saturated link, plus the bytes in flight: a quarter of the link
                // for transfers that are never cut, and a tenth for the others.
                stage.record.set(
                    "default obeys after (s)", try await obey(["default"], within: 0.5, stage, changed))
                stage.record.set(
                    "low obeys after (s)", try await obey(["utility", "background"], within: 0.2, stage, changed))
            }
            try await stage.killSluice()
            for id in ids.values.joined() { _ = try? await stage.client.cancel(id) }
        }
        stage.note(try await stage.traffic(), kinds: QualityOfService.allCases.map { "\($0)" })
    }

    /// The seconds until the last command was cancelled with a reason; nil if one was not.
    private static func cancelled(
        _ ids: [CommandID], _ stage: Stage, _ changed: MonotonicTime
    ) async throws -> Double? {
        guard !ids.isEmpty else { return nil }
        var last = 0.0
        for id in ids {
            let timeline = try await stage.client.timeline(id)
            guard let end = timeline.last(where: { $0.status == .cancelled }), end.reason != nil else { return nil }
            last = max(last, (stage.moment(end.at) - changed).seconds)
        }
        return last
    }

    /// The seconds from the change until transfers of these kinds stay below a share of the link, in each two
    /// seconds of the next six.
    private static func obey(
        _ kinds: [String], within share: Double, _ stage: Stage, _ changed: MonotonicTime
    ) async throws -> Double? {
        var sent: [SentBytes] = []
        for kind in kinds { sent.append(try await stage.sent(kind, since: changed)) }
        var after: Double?
        for wait in stride(from: 0.0, through: 6, by: 0.25) {
            let bytes = sent.reduce(0) {
                $0 + $1.bytes(from: changed + .seconds(wait), to: changed + .seconds(wait + 2))
            }
            if bytes > share * slow.payloadCeiling * 2 {
                after = nil
            } else {
                after = after ?? wait
            }
        }
        return after
    }

    private static let dropLowOnly = Scenario(
        name: "drop-low-only", title: "100 → 2 Mbit/s, then only low QoS is left", uplink: fast,
        targets: [Target("link used (%)", .atLeast(90))], minSeconds: 40
    ) { stage in
        try await stage.startSluice()
        stage.start()
        try await stage.submitBacklog(of: 20_000_000, seconds: 20)
        try await stage.until(second: 10)
        let changed = try await stage.change(slow)
        try await stage.until(second: stage.seconds)
        let (from, end) = (changed + .seconds(3), MonotonicTime.now)
        let traffic = try await stage.traffic()
        stage.record.set(
            "link used (%)",
            Double(traffic.bytes(from: from, to: end)) / slow.payloadCeiling / (end - from).seconds * 100)
        stage.record.set("useful (%)", traffic.useful(from: from, to: end) / slow.payloadCeiling * 100)
        stage.note(traffic, kinds: ["low"])
    }

    private static let dropRecover = Scenario(
        name: "drop-recover", title: "100 → 2 → 100 Mbit/s", uplink: fast,
        targets: [
            Target("level after (s)", .atMost(1.5)), Target("recovered to 80 % after (s)", .atMost(5)),
            Target("goodput (%)", .atLeast(93)),
        ], minSeconds: 45, isMain: true
    ) { stage in
        let fast = stage.scenario.uplink
        try await stage.startSluice()
        stage.start()
        try await stage.submitBacklog(of: 2_000_000)
        try await stage.until(second: stage.seconds / 3)
        let dropped = try await stage.change(slow)
        try await stage.until(second: stage.seconds * 2 / 3)
        let back = try await stage.change(fast)
        try await stage.until(second: stage.seconds)
        let end = MonotonicTime.now
        let traffic = try await stage.traffic()
        let capacity =
            fast.payloadCeiling * (dropped - stage.begin + (end - back)).seconds + slow.payloadCeiling
            * (back - dropped).seconds
        let useful = traffic.useful(from: stage.begin, to: end) * (end - stage.begin).seconds
        stage.record.set("goodput (%)", useful / capacity * 100)
        stage.record.set(
            "level after (s)",
            stage.link(after: dropped) { ["degraded", "poor"].contains($0.level) }.map { ($0.at - dropped).seconds })
        stage.record.set(
            "recovered to 80 % after (s)",
            traffic.recovery(to: fast.payloadCeiling * 0.8, after: back, within: (end - back).seconds - 1))
        stage.record.samples.append(
            ("limit", stage.linkEvents().filter { $0.link != "*" }.compactMap { $0.limit.map(Double.init) }))
        stage.record.set("requests at once", traffic.concurrency(from: stage.begin + .seconds(5), to: dropped))
        stage.record.set("requests at once after", traffic.concurrency(from: back + .seconds(5), to: end))
        stage.note(traffic, kinds: ["low"])
    }
}
