import Commands
import Host
import Sluice
import TestSupport

extension Scenario {
    static let faults = [deadNames, resetConnects]

    /// The destination closes each connection, so that every file needs a name lookup and a connect.
    private static let deadNames = Scenario(
        name: "dead-names",
        title: "50 files of 64 KB to one host while uploads to 200 hosts wait whose names the resolver ignores",
        uplink: .megabits(20),
        targets: [
            Target("of the time alone", .atMost(1.2)), Target("host offline (times)", .atMost(0)),
        ], arms: [.ours], minSeconds: 45, neighbours: 0
    ) { stage in
        try await stage.destinations[0].run(Self.closing)
        let resolver = try await stage.startResolver(knowing: "good.test")
        try await stage.startSluice(resolver: resolver)
        // In the first batch the controller finds the limit of the link.
        let alone = Array(try await stage.batches(4, at: Self.goodOrigin, kind: "alone").dropFirst())
        stage.start()
        var dead: [CommandID] = []
        for number in 1...200 {
            dead += try await stage.submit(of: 10_000, .default, kind: "dead", at: "http://h\(number).bad.test:8080")
        }
        try await until("lookups of dead names") {
            // The first commands of a class start before the others.
            try await !stage.running(Array(dead.prefix(20))).isEmpty
        }
        try await stage.pause(2)
        stage.mark("50 files")
        let beside = try await stage.batches(3, at: Self.goodOrigin, kind: "beside", every: 10)
        stage.record.samples.append(("alone (s)", alone))
        stage.record.samples.append(("beside dead names (s)", beside))
        stage.record.set("50 files alone (s)", alone.median)
        stage.record.set("batches that ended within 90 s", Double(beside.count))
        if beside.count == 3 {
            stage.record.set("50 files beside dead names (s)", beside.median)
            stage.record.set("slowest of three (s)", beside.max())
            stage.record.set("of the time alone", beside.median! / alone.median!)
        }
        let levels = stage.linkEvents().filter { $0.link.contains("good.test") }.map(\.level)
        stage.record.set(
            "host offline (times)", Double(zip([""] + levels, levels).count { $0 != "offline" && $1 == "offline" }))
        stage.note(try await stage.traffic(), kinds: ["alone", "beside"])
    }

    /// A refused connect is one failed execution, whatever else waits for a connection.
    private static let resetConnects = Scenario(
        name: "reset-connects",
        title: "1,000 files of 10 KB, the destination closes each connection, every 20th SYN is answered by RST",
        uplink: EmulatedLink(rate: 50e6, delay: .milliseconds(10), resetEvery: 20),
        targets: [Target("failed executions per RST", .between(0.9, 1.05))], arms: [.ours], minSeconds: 45
    ) { stage in
        try await stage.destinations[0].run(Self.closing)
        try await stage.startSluice()
        stage.start()
        let ids = try await stage.submit(1000, of: 10_000, .default, kind: "small")
        try await until("all files", within: .seconds(240)) { try await stage.client.counts()[.success] == ids.count }
        stage.record.set("1,000 files (s)", stage.elapsed)
        var failed = 0
        for id in ids {
            // Each execution is sent once; the last one succeeded.
            failed += try await stage.client.timeline(id).count { $0.status == .sent } - 1
        }
        let resets = try await stage.bed.links().elements?.first?["up"]?["reset"]?.integer ?? 0
        stage.record.set("RST", Double(resets))
        stage.record.set("failed executions", Double(failed))
        if resets > 0 { stage.record.set("failed executions per RST", Double(failed) / Double(resets)) }
        let levels = stage.linkEvents().filter { $0.link != "*" }.map(\.level)
        stage.record.set(
            "offline (times)", Double(zip([""] + levels, levels).count { $0 != "offline" && $1 == "offline" }))
        stage.note(try await stage.traffic(), kinds: ["small"])
    }

    private static let goodOrigin = "http://good.test:8080"
    private static let closing = "* * : read; answer 201 header \"Connection: close\"; close"
}

extension Stage {
    /// Starts a name server beside the destinations. It answers for one name with the address of the first destination, and ignores all others.
    /// - Returns: the path of a resolv.conf(5) that names the server.
    fileprivate func startResolver(knowing name: String) async throws -> String {
        let resolver = try bed.start(
            in: .server, ["\(NetworkBed.bin)/TestResolver", "10.77.1.1", "53", "\(name)=10.77.1.1"])
        try await TestSupport.until("the name server") {
            if let ending = resolver.ending { throw Missed("the name server ended with \(ending): \(resolver.errors)") }
            return resolver.output.contains("ready")
        }
        return try directory.file("resolv.conf", Array("nameserver 10.77.1.1\n".utf8))
    }

    /// Uploads 50 files of 64 KB, several times.
    /// - Parameter period: the seconds from one batch to the next; 0 for no pause.
    /// - Returns: for each batch that ended within 90 s, the seconds from the first commit to the last success.
    fileprivate func batches(
        _ count: Int, at origin: String, kind: String, every period: Double = 0
    ) async throws -> [Double] {
        var times: [Double] = []
        for _ in 0..<count {
            let next = MonotonicTime.now + .seconds(period)
            let ids = try await submit(50, of: 65_536, .default, kind: kind, at: origin)
            do {
                try await TestSupport.until("50 files", within: .seconds(90)) {
                    for id in ids where try await self.client.command(id)?.status != .success { return false }
                    return true
                }
            } catch is Missed {
                var done = 0
                for id in ids where try await client.command(id)?.status == .success { done += 1 }
                record.notes.append("\(done) of 50 files in 90 s")
                return times
            }
            var (first, last) = (Timestamp.now, Timestamp(milliseconds: 0))
            for id in ids {
                let timeline = try await client.timeline(id)
                first = min(first, timeline.first?.at ?? first)
                last = max(last, timeline.last?.at ?? last)
            }
            times.append(Double(last.milliseconds - first.milliseconds) / 1000)
            try await pause((next - .now).seconds)
        }
        return times
    }
}
