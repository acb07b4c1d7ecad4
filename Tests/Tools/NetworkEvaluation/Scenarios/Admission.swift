import Commands
import Host
import Sluice
import TestSupport

extension Scenario {
    /// The number of commands that may run, for one URL, destination or kind of file beside others.
    static let admission = [oneBadURL, highAgainstSix, newcomer, pausedReceiver] + smallFiles + [manyDestinations]

    /// Each half has its own destination, so that neither starts with the state of the other.
    private static let oneBadURL = Scenario(
        name: "one-bad-url",
        title: "one URL answers 503, and files of 100 kB go to others of its server; against a server without it",
        uplink: .megabits(50, roundTrip: .milliseconds(20)), destinations: [nil, nil],
        targets: [
            Target("rate beside the bad URL (%)", .atLeast(95)), Target("times offline", .atMost(0)),
            Target("requests to the bad URL", .atMost(7)),
        ], arms: [.ours], minSeconds: 40
    ) { stage in
        for server in stage.destinations {
            try await server.run("PUT /put/bad/* : read; answer 503\n* * : store after 200ms")
        }
        try await stage.startSluice()
        stage.start()
        let half = stage.seconds / 2 - 1
        let alone = try await stage.supply(half, of: 100_000, kind: "alone", to: 1)
        try await stage.drain(alone, kind: "alone", from: 1)
        let bad = try await stage.submit(of: 100_000, .default, kind: "bad", to: 2)
        stage.mark("503")
        let beside = try await stage.supply(half, of: 100_000, kind: "beside", to: 2)
        let traffic = try await stage.traffic()
        stage.record.set("rate beside the bad URL (%)", beside.perSecond / alone.perSecond * 100)
        stage.record.set("files per second, alone", alone.perSecond)
        stage.record.set("files per second, beside", beside.perSecond)
        stage.record.set("requests to the bad URL", Double(traffic.of("bad").requests.count))
        var levels: [String: String] = [:]
        let outages = stage.linkEvents().count { event in
            levels.updateValue(event.level, forKey: event.link) != "offline" && event.level == "offline"
        }
        stage.record.set("times offline", Double(outages))
        if let command = try await stage.client.command(bad[0]) {
            stage.record.notes.append("the command to the bad URL stands in \(command.status)")
        }
        stage.note(traffic, kinds: ["alone", "beside"])
    }

    // MARK: A server that accepts six concurrent requests

    /// A batch of uploads to its own destination.
    private struct Batch {
        var qos: QualityOfService
        var hasLimit = false
        /// The answer of the server above six requests.
        var status = 503

        var text: String { "\(qos)\(hasLimit ? ", limit set" : "")\(status == 503 ? "" : ", \(status)")" }
        /// The name of the destination in `sluice.yaml`.
        func name(_ number: Int) -> String { "six\(number)" }
    }

    /// The batches. The seconds of each are divided by those of the first.
    private static let batches = [
        Batch(qos: .default), Batch(qos: .userInitiated), Batch(qos: .background),
        Batch(qos: .default, hasLimit: true), Batch(qos: .userInitiated, hasLimit: true),
        Batch(qos: .background, hasLimit: true), Batch(qos: .userInitiated, status: 429),
    ]

    private static let highAgainstSix = Scenario(
        name: "high-against-six",
        title: "120 files of 20 kB in each quality to a server that takes 6 at once, with and without "
            + "`maxConcurrency: 6`",
        uplink: .megabits(50, roundTrip: .milliseconds(20)), destinations: batches.map { _ in nil },
        targets: batches.flatMap { batch in
            [
                Target("\(batch.text): refused (%)", .atMost(5)),
                Target("\(batch.text): time against default quality", .atMost(1.3)),
            ]
        }, arms: [.ours],
        policy: {
            let limited = batches.enumerated().filter { $0.element.hasLimit }
            var policy = ["destinations": "[\(limited.map { $0.element.name($0.offset) }.joined(separator: ", "))]"]
            for (number, batch) in limited {
                let section = "destination.\(batch.name(number))"
                policy["\(section).origin"] = "\"http://10.77.\(number + 1).1:8080\""
                policy["\(section).maxConcurrency"] = "6"
            }
            return policy
        }()
    ) { stage in
        for (batch, server) in zip(batches, stage.destinations) {
            let answer = "answer \(batch.status) header \"Retry-After: 1\" header \"Connection: close\""
            try await server.run("PUT * active > 6 : \(answer); discard 1s; close\n* * : store after 200ms")
        }
        try await stage.startSluice()
        stage.start()
        let files = 120
        var base: Double?
        for (index, batch) in batches.enumerated() {
            let server = stage.destinations[index]
            stage.mark(batch.text)
            let begin = MonotonicTime.now
            let ids = try await stage.submit(files, of: 20_000, batch.qos, kind: "six", to: index + 1)
            let isDone = try await stage.holds(within: max(30, stage.seconds)) {
                try await server.count(below: "/put/six/").succeeded >= files
            }
            let count = try await server.count(below: "/put/six/")
            let share = Double(count.refused) / Double(max(1, count.succeeded + count.refused)) * 100
            stage.record.set("\(batch.text): refused (%)", share)
            if isDone, let end = count.lastEnd {
                base = base ?? (end - begin).seconds
                stage.record.set("\(batch.text): seconds", (end - begin).seconds)
                stage.record.set("\(batch.text): time against default quality", base.map { (end - begin).seconds / $0 })
            } else {
                stage.record.set("\(batch.text): files that did not arrive", Double(files - count.succeeded))
            }
            await stage.cancel(ids)
        }
        stage.note(try await stage.traffic(), kinds: ["six"])
    }

    // MARK: A destination that holds all slots

    /// On loopback in the network of the client, where a link has all slots from the start and its rate
    /// determines no level.
    private static let newcomer = Scenario(
        name: "newcomer",
        title: "64 background uploads of 20 MB to a server that reads each at 20 kB/s, then 31 `default` puts "
            + "elsewhere, each answered after 5 s",
        uplink: EmulatedLink(),
        targets: [
            Target("tus: first after (s)", .atMost(1)), Target("tus: at once within 2 s", .atLeast(4)),
            Target("tus: share of the slots (%)", .atLeast(25)), Target("put: first after (s)", .atMost(1)),
            Target("put: at once within 2 s", .atLeast(4)),
        ], arms: [.ours], concurrency: 32, neighbours: 0
    ) { stage in
        let (slots, newcomers) = (64, 31)
        try await stage.startSluice()
        stage.start()
        for (half, transport) in [Stage.Transport.tus, .put].enumerated() {
            let directory = stage.directory.path
            let slow = try await BedDestination(loopbackOf: stage.bed, port: 8080 + half, in: directory)
            let other = try await BedDestination(loopbackOf: stage.bed, port: 8090 + half, in: directory)
            try await slow.set(.connectionRate(20_000 * 8))
            try await other.set(.firstByteDelay(5))
            let ids = try await stage.submit(
                slots, of: 20_000_000, .background, kind: "slow", at: slow.origin, by: transport)
            _ = try await stage.holds(within: 15) { try await slow.statistics(since: .now).active >= slots }
            let running = try await slow.statistics(since: .now).active
            stage.record.set("\(transport): slow uploads at once before", Double(running))
            let begin = MonotonicTime.now
            stage.mark("newcomer, \(transport)", at: begin)
            try await stage.submit(newcomers, of: 64_000, .default, kind: "newcomer", at: other.origin)
            // Uploads by PUT keep all slots, so the figures are known after the first newcomer.
            _ = try await stage.holds(within: max(30, stage.seconds)) {
                let count = try await other.count(below: "/put/newcomer/")
                return count.succeeded >= newcomers
                    || count.begun > 0 && transport == .put && .now - begin > .seconds(8)
            }
            let traffic = Traffic(requests: try await other.statistics().requests)
            let first = traffic.requests.map(\.begin).min()
            let share = Double(traffic.maxAtOnce(from: begin, to: begin + .seconds(30))) / Double(slots) * 100
            stage.record.set("\(transport): first after (s)", first.map { ($0 - begin).seconds })
            stage.record.set(
                "\(transport): at once within 2 s", Double(traffic.maxAtOnce(from: begin, to: begin + .seconds(2))))
            stage.record.set("\(transport): share of the slots (%)", share)
            await stage.cancel(ids)
            _ = try await stage.holds(within: 10) { try await slow.statistics(since: .now).active == 0 }
        }
    }

    // MARK: A receiver that pauses

    private static let pausedReceiver = Scenario(
        name: "paused-receiver",
        title: "two uploads of 16 MB by tus to a server that reads nothing for 5 s after each 4 MB",
        uplink: .megabits(50, roundTrip: .milliseconds(20)),
        targets: [Target("cuts", .atMost(0)), Target("bytes sent twice", .atMost(0))], arms: [.ours]
    ) { stage in
        // The rate gives each connection a receive buffer of known size, which the pauses fill.
        try await stage.destinations[0].set(.connectionRate(80e6))
        try await stage.destinations[0].run("* * : store pausing 5s every 4M")
        try await stage.startSluice()
        stage.start()
        let ids = try await stage.submit(2, of: 16_000_000, .default, kind: "paused", by: .tus)
        let isDone = try await stage.holds(within: max(40, stage.seconds)) {
            for id in ids where try await stage.client.command(id)?.status.isFinal == false { return false }
            return true
        }
        let traffic = try await stage.traffic()
        if isDone { stage.record.set("seconds", stage.elapsed) }
        stage.record.set("cuts", Double(max(0, traffic.requests.count { $0.method == "PATCH" } - ids.count)))
        stage.record.set("bytes sent twice", Double(try await stage.repeated().again))
        stage.record.samples.append(
            (
                "sent again at (s)",
                traffic.requests.filter { $0.method == "PATCH" }.map { ($0.begin - stage.begin).seconds }
            ))
        stage.note(traffic, kinds: ["paused"])
    }
}
