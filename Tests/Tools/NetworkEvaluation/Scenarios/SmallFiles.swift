import Commands
import Host
import Sluice
import TestSupport

extension Scenario {
    /// Files with few bytes or none. Each half of a scenario has its own destination.
    static let smallFiles = [emptyFiles, smallAfterLarge, maxRateSmallFiles]

    private static let emptyFiles = Scenario(
        name: "empty-files", title: "empty files against files of 1 kB, answered after 0.4 s",
        uplink: .megabits(100, roundTrip: .milliseconds(20)), destinations: [nil, nil],
        targets: [Target("rate against files of 1 kB (%)", .atLeast(90))], arms: [.ours], minSeconds: 40
    ) { stage in
        for server in stage.destinations { try await server.set(.firstByteDelay(0.4)) }
        try await stage.startSluice()
        stage.start()
        let small = try await stage.supply(stage.seconds / 2, of: 1000, kind: "small", to: 1)
        try await stage.drain(small, kind: "small", from: 1)
        stage.mark("empty")
        let empty = try await stage.supply(stage.seconds / 2, of: 0, kind: "empty", to: 2)
        stage.record.set("rate against files of 1 kB (%)", empty.perSecond / small.perSecond * 100)
        stage.record.set("files per second, 1 kB", small.perSecond)
        stage.record.set("files per second, empty", empty.perSecond)
        let traffic = try await stage.traffic(of: 2)
        let end = MonotonicTime.now
        stage.record.set("empty files at once", traffic.concurrency(from: end - .seconds(5), to: end))
        stage.note(try await stage.traffic(), kinds: ["small", "empty"])
    }

    /// The steady rate is that of a destination that never received other files.
    private static let smallAfterLarge = Scenario(
        name: "small-after-large", title: "files of 1 MB, then of 1 kB to the same server, answered after 0.4 s",
        uplink: .megabits(100, roundTrip: .milliseconds(20)), destinations: [nil, nil],
        targets: [Target("recovered to 90 % after (s)", .atMost(5))], arms: [.ours], minSeconds: 55
    ) { stage in
        for server in stage.destinations { try await server.set(.firstByteDelay(0.4)) }
        try await stage.startSluice()
        stage.start()
        let steady = try await stage.supply(stage.seconds / 4, of: 1000, kind: "steady", to: 1)
        let window = 5.0
        let before = try await stage.traffic(of: 1)
        let rate = before.answered(from: steady.end - .seconds(window), to: steady.end) / window
        try await stage.drain(steady, kind: "steady", from: 1)
        // About the number that the link carries in a quarter of the run.
        let large = Int(stage.scenario.uplink.payloadCeiling * stage.seconds / 4 / 1e6)
        stage.mark("large")
        try await stage.submit(large, of: 1_000_000, .default, kind: "large", to: 2)
        try await stage.submit(
            Int(rate * stage.seconds / 2) + 256, of: 1000, .default, kind: "small", to: 2)
        let server = stage.destinations[1]
        try await until("the last large file", within: .seconds(60)) {
            try await server.count(below: "/put/large/").succeeded >= large
        }
        guard let change = try await server.count(below: "/put/large/").lastEnd else { return }
        stage.mark("small", at: change)
        try await stage.until(second: max(stage.seconds, (change - stage.begin).seconds + 8))
        let end = MonotonicTime.now
        let small = try await stage.traffic(of: 2).of("small")
        // The start of the first two seconds with 90 % of the rate.
        let recovered = stride(from: 0, to: (end - change).seconds - 2, by: 0.25).first { wait in
            small.answered(from: change + .seconds(wait), to: change + .seconds(wait + 2)) >= rate * 0.9 * 2
        }
        stage.record.set("recovered to 90 % after (s)", recovered)
        stage.record.set("files per second, never large", rate)
        stage.record.set("files per second at the end", small.answered(from: end - .seconds(window), to: end) / window)
        stage.record.samples.append(
            ("limit", stage.linkEvents().filter { $0.link != "*" }.compactMap { $0.limit.map(Double.init) }))
        stage.note(try await stage.traffic(), kinds: ["steady", "large", "small"])
    }

    private static let maxRateSmallFiles = Scenario(
        name: "max-rate-small-files",
        title: "files of 64 kB, answered after 0.4 s, with `maxRate: 100Mbit` and without",
        uplink: .megabits(100, roundTrip: .milliseconds(20)), destinations: [nil, nil],
        targets: [Target("rate with maxRate (%)", .atLeast(95))], arms: [.ours], minSeconds: 40,
        policy: [
            "destinations": "[limited]", "destination.limited.origin": "\"http://10.77.2.1:8080\"",
            "destination.limited.maxRate": "100Mbit",
        ]
    ) { stage in
        let bytes = 64_000
        for server in stage.destinations { try await server.set(.firstByteDelay(0.4)) }
        try await stage.startSluice()
        stage.start()
        let free = try await stage.supply(stage.seconds / 2, of: bytes, kind: "free", to: 1)
        try await stage.drain(free, kind: "free", from: 1)
        stage.mark("maxRate")
        let limited = try await stage.supply(stage.seconds / 2, of: bytes, kind: "limited", to: 2)
        let most = min(free.perSecond, 100e6 / 8 / Double(bytes))
        stage.record.set("rate with maxRate (%)", limited.perSecond / most * 100)
        stage.record.set("files per second, without", free.perSecond)
        stage.record.set("files per second, with", limited.perSecond)
        stage.note(try await stage.traffic(), kinds: ["free", "limited"])
    }
}

extension Traffic {
    /// The number of requests that were answered with 2xx between two times.
    func answered(from start: MonotonicTime, to end: MonotonicTime) -> Double {
        Double(
            requests.count { request in
                guard let status = request.status, let answered = request.end else { return false }
                return (200..<300).contains(status) && answered >= start && answered < end
            })
    }
}
