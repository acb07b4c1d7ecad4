import Commands
import Host
import Sluice
import TestSupport

extension Scenario {
    /// Downloads of high QoS while eight low downloads run.
    static let downloads = [
        Scenario(
            name: "download-20",
            title: "20 Mbit/s, 50 ms, eight low downloads, every 10 s a high one of 2.5 MB",
            uplink: .megabits(20),
            targets: [
                Target("one download (% of the link)", .atLeast(95)), Target("slowdown p50", .atMost(1.15)),
                Target("slowdown p99", .atMost(1.5)),
            ],
            arms: [.ours, .fixed8], isMain: false, neighbours: 4
        ) { stage in
            let link = stage.scenario.uplink
            let (high, period) = (2_500_000, 10.0)
            let low = Int(link.payloadCeiling * (stage.seconds + 60))
            try await stage.destinations[0].run(
                """
                GET /get/single : answer 200 body \(high * 12)
                GET /get/high* : answer 200 body \(high)
                GET /get/low* : answer 200 body \(low)
                """)
            try await stage.startSluice()
            let single = try await stage.time(of: stage.download("single", .userInteractive))
            stage.record.set("one download (% of the link)", Double(high * 12) / link.payloadCeiling / single * 100)
            var alone: [Double] = []
            for turn in 0..<5 {
                alone.append(try await stage.time(of: stage.download("high-alone-\(turn)", .userInteractive)))
                try await stage.pause(period / 2)
            }
            stage.record.samples.append(("alone (s)", alone))
            stage.record.set("alone (s)", alone.median)
            var ids: [CommandID] = []
            for number in 0..<8 { ids.append(try await stage.download("low-\(number)", .utility)) }
            try await until("the low downloads") { try await !stage.running(ids).isEmpty }
            stage.start()
            var times: [Double] = []
            for turn in 0..<max(1, Int((stage.seconds - 5) / period)) {
                try await stage.until(second: 5 + Double(turn) * period)
                stage.mark("high")
                times.append(try await stage.time(of: stage.download("high-\(turn)", .userInteractive)))
            }
            try await stage.until(second: stage.seconds)
            let slowdowns = times.map { $0 / alone.median! }
            stage.record.samples.append(("slowdown", slowdowns))
            stage.record.set("slowdown p50", slowdowns.median)
            stage.record.set("slowdown p99", slowdowns.quantile(0.99))
        }
    ]
}

extension Stage {
    /// Submits the download of a path below `/get/` of the first destination.
    func download(_ name: String, _ qos: Commands.QualityOfService) async throws -> CommandID {
        var options = SubmitOptions()
        options.qos = qos
        let payload: JSONValue = [
            "url": .string("\(destinations[0].origin)/get/\(name)"), "to": .string("\(directory.path)/got-\(name)"),
        ]
        return try await client.submit("download", payload: payload, options: options)
    }
}
