import Commands
import Foundation
import Host
import TestSupport
import Testing

extension EndToEndTests {
    /// The network bed itself, because a measurement on a wrong link is worthless.
    @Suite(
        .tags(.measuresTime),
        .enabled(if: NetworkBed.obstacleOfPackets == nil, "\(NetworkBed.obstacleOfPackets ?? "")"),
        .enabled(if: isAvailable(program("curl") != nil), "curl is not installed"))
    struct NetworkBedTests {
        /// The received bodies relative to the capacity of full packets. The value may exceed 1: bytes behind
        /// a lost packet are delivered together, once it has been sent again.
        private static let plausible = 0.92...1.06

        /// At least four flows: TCP with a single flow leaves a gap after a loss (0.79 of the rate in one of
        /// four runs on a busy machine).
        @Test(arguments: [4, 16], NetworkBed.congestionControls)
        func `flows share exactly the rate of the link`(flows: Int, congestion: String) async throws {
            let link = EmulatedLink.megabits(20)
            try await Rig.with(NetworkBed.Configuration(link, congestion: congestion)) { rig in
                let uploads = try (0..<flows).map { try rig.upload("/\($0)", bytes: 100_000_000) }
                let carried = try await rig.carried(by: link, after: .seconds(2))
                print("\(congestion), \(flows) flows: \(carried)")
                // bbr sends less from time to time, to measure the round trip without a queue.
                #expect((congestion == "bbr" ? 0.95...1.01 : 0.98...1.01).contains(carried.usual))
                #expect(carried.wire < 1.01)
                #expect(Self.plausible.contains(carried.bodies))
                for upload in uploads { #expect(upload.ending == nil, "\(upload.errors)") }
            }
        }

        @Test func `a link of 100 Mbit/s and 50 ms carries its rate`() async throws {
            let link = EmulatedLink.megabits(100)
            try await Rig.with(NetworkBed.Configuration(link)) { rig in
                for number in 0..<4 { _ = try rig.upload("/\(number)", bytes: 500_000_000) }
                let carried = try await rig.carried(by: link, after: .seconds(2))
                print("100 Mbit/s: \(carried)")
                // A busy machine cannot always carry ten thousand packets a second. Packets that are late in
                // one half second count in the next; the whole is never above the rate.
                #expect((0.97...1.05).contains(carried.best))
                #expect(carried.wire < 1.01)
                #expect(Self.plausible.contains(carried.bodies))
            }
        }

        @Test func `the rate of a link changes while traffic flows`() async throws {
            try await Rig.with(NetworkBed.Configuration(.megabits(20))) { rig in
                _ = try rig.upload("/a", bytes: 100_000_000)
                try await rig.received(1_000_000)
                let slow = EmulatedLink.megabits(2)
                try await rig.bed.change(slow)
                // Packets in flight keep their time of arrival.
                let carried = try await rig.carried(by: slow, after: .seconds(1))
                #expect((0.98...1.02).contains(carried.usual), "\(carried)")
                #expect(carried.wire < 1.02)
            }
        }

        @Test func `a blackout is silent, and traffic resumes after it`() async throws {
            try await Rig.with(NetworkBed.Configuration(.megabits(20))) { rig in
                let upload = try rig.upload("/a", bytes: 5_000_000)
                try await rig.received(1_000_000)
                let dark = try await rig.bed.blackout(true)
                let light = dark + .seconds(1.5)
                try await until("a second and a half of blackout") { MonotonicTime.now > light }
                try await rig.bed.blackout(false)
                #expect(try await upload.end(within: .seconds(30)) == .exited(0))
                let received = try await rig.destination.statistics()
                // One step of 50 ms may have begun before the blackout.
                #expect(received.bytes(from: dark + .seconds(0.05), to: light) == 0)
                #expect(received.bytes() == 5_000_000)
            }
        }

        @Test(.enabled(if: NetworkBed.congestionControls.contains("bbr"), "this kernel has no bbr"))
        func `the share of lost packets is the configured one`() async throws {
            let lossy = EmulatedLink.megabits(20, roundTrip: .milliseconds(10), loss: 0.05)
            try await Rig.with(NetworkBed.Configuration(lossy, congestion: "bbr")) { rig in
                let upload = try rig.upload("/a", bytes: 5_000_000)
                #expect(try await upload.end(within: .seconds(30)) == .exited(0))
                let up = try #require(try await rig.bed.links().elements?.first?["up"])
                let lost = Double(up["lost"]?.integer ?? 0)
                let share = lost / (lost + Double(up["packets"]?.integer ?? 0))
                #expect((0.035...0.065).contains(share), "\(share)")
            }
        }

        @Test func `every third connect is answered by RST`() async throws {
            var link = EmulatedLink.megabits(20)
            link.resetEvery = 3
            try await Rig.with(NetworkBed.Configuration(link)) { rig in
                var endings: [ChildProcess.Exit?] = []
                for number in 0..<6 {
                    endings.append(try await rig.upload("/\(number)", bytes: 1000).end(within: .seconds(10)))
                }
                // Exit code 7 of curl: the connect failed.
                #expect(
                    endings == [.exited(0), .exited(0), .exited(7), .exited(0), .exited(0), .exited(7)], "\(endings)")
                let up = try #require(try await rig.bed.links().elements?.first?["up"])
                #expect(up["reset"]?.integer == 2)
            }
        }

        @Test func `destinations have links of their own below the shared one`() async throws {
            let own = EmulatedLink.megabits(4)
            try await Rig.with(NetworkBed.Configuration(.megabits(20), destinations: [own, nil])) { rig in
                let other = try await BedDestination(rig.bed, number: 2, in: rig.directory.path)
                _ = try rig.upload("/a", bytes: 100_000_000)
                for number in 0..<4 { _ = try rig.upload("/\(number)", bytes: 100_000_000, to: other) }
                let start = MonotonicTime.now
                try await until("two seconds of traffic") { MonotonicTime.now - start > .seconds(2) }
                let before = try await rig.bed.delivered(.up)
                try await until("three more") { MonotonicTime.now - before.at > .seconds(3) }
                let after = try await rig.bed.delivered(.up)
                let one = try await rig.destination.statistics().bytes(from: before.at, to: after.at)
                let two = try await other.statistics().bytes(from: before.at, to: after.at)
                #expect(Double(one) / (after.at - before.at).seconds < own.payloadCeiling * 1.08)
                let shared = EmulatedLink.megabits(20)
                let bodies = Double(after.bytes - before.bytes) * shared.payloadCeiling / (shared.rate! / 8)
                #expect(Self.plausible.contains(Double(one + two) / bodies), "\(one), \(two) of \(bodies)")
            }
        }

        @Test func `a removed route is missing at once`() async throws {
            try await Rig.with(NetworkBed.Configuration(.megabits(20))) { rig in
                try await rig.bed.setRoute(false)
                let lost = try rig.upload("/a", bytes: 1000)
                #expect(try await lost.end(within: .seconds(10)) == .exited(7))
                try await rig.bed.setRoute(true)
                try await rig.bed.setInterface(false)
                try await rig.bed.setInterface(true)
                let found = try rig.upload("/a", bytes: 1000)
                #expect(try await found.end(within: .seconds(10)) == .exited(0))
            }
        }

        @Test func `an interrupted tus upload is kept and resumes`() async throws {
            try await Rig.with(NetworkBed.Configuration(.megabits(20))) { rig in
                let origin = rig.destination.origin
                let version = ["-H", "Tus-Resumable: 1.0.0"]
                _ = try await rig.curl(["-X", "POST", "-H", "Upload-Length: 3000000"] + version + ["\(origin)/tus"])
                let patch = [
                    "-X", "PATCH", "-H", "Content-Type: application/offset+octet-stream", "-T",
                    try rig.file(bytes: 3_000_000),
                ]
                let cut = try rig.start(patch + ["-H", "Upload-Offset: 0"] + version + ["\(origin)/tus/1"])
                try await rig.received(1_000_000)
                cut.signal(SIGKILL)
                _ = await cut.end
                let head = try await rig.curl(["-I"] + version + ["\(origin)/tus/1"])
                let offset = try #require(
                    head.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix("upload-offset: ") }
                        .flatMap { Int64($0.dropFirst(15)) })
                #expect((1_000_000..<3_000_000).contains(offset))
                let rest = try rig.directory.file("rest", [UInt8](repeating: 0, count: 3_000_000 - Int(offset)))
                _ = try await rig.curl(
                    patch.dropLast() + [rest, "-H", "Upload-Offset: \(offset)"] + version + ["\(origin)/tus/1"])
                #expect(try await rig.destination.files()["/tus/1"]?.kept == 3_000_000)
                #expect(try await rig.destination.statistics().bytes() == 3_000_000)
            }
        }

        @Test func `a destination refuses connections, is full, or is slow`() async throws {
            try await Rig.with(NetworkBed.Configuration(.megabits(50, roundTrip: .milliseconds(4)))) { rig in
                try await rig.destination.set(.refusing(true))
                let refused = try rig.upload("/a", bytes: 1000)
                #expect(try await refused.end(within: .seconds(10)) == .exited(7))
                try await rig.destination.set(.refusing(false), .maxRequests(1), .connectionRate(8e6))
                let first = try rig.upload("/a", bytes: 3_000_000)
                try await rig.received(100_000)
                let status = try await rig.curl([
                    "-T", try rig.file(bytes: 1000), "-o", "/dev/null", "-w", "%{http_code}",
                    "\(rig.destination.origin)/b",
                ])
                #expect(status == "503")
                #expect(try await first.end(within: .seconds(30)) == .exited(0))
                let request = try #require(try await rig.destination.statistics().requests.first { $0.path == "/a" })
                let rate = Double(request.received) * 8 / (try #require(request.end) - request.begin).seconds
                #expect((7e6...8.5e6).contains(rate), "\(rate)")
            }
        }

        @Test func `Sluice uploads through the link`() async throws {
            try await Rig.with(NetworkBed.Configuration(.megabits(20))) { rig in
                try await rig.destination.set(.hashes(true))
                try await Installation.with(on: rig.bed) { installation in
                    _ = try await installation.up()
                    let file = try rig.file(bytes: 1_000_000)
                    let put = try await installation.sluice(
                        "put", file, "--to", "\(rig.destination.origin)/a", "--wait")
                    #expect(put.code == 0, "\(put.errors)")
                }
                let kept = try #require(try await rig.destination.files()["/a"])
                #expect(kept.kept == 1_000_000)
                // The digest of a million zeros.
                #expect(kept.sha256 == "d29751f2649b32ff572b5e0a9f541ea660a50f94ff0beedfb0b692b924cc8025")
            }
        }

        @Test func `no process outlives the bed`() async throws {
            let directory = try TemporaryDirectory("bed")
            defer { directory.remove() }
            let bed = try await NetworkBed(NetworkBed.Configuration(.megabits(20)), in: directory.path)
            // A grandchild of the bed.
            let marker = "31.4159\(getpid())"
            let outlives = try bed.start(in: .client, ["/bin/sh", "-c", "setsid sleep \(marker) & sleep 100"])
            try await until("the grandchild") { Self.isRunning(marker) }
            await bed.finish()
            #expect(outlives.ending != nil)
            try await until("the grandchild's end") { !Self.isRunning(marker) }
        }

        private static func isRunning(_ argument: String) -> Bool {
            (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.contains { process in
                Int(process) != nil
                    && contents(of: "/proc/\(process)/cmdline").map {
                        String(decoding: $0, as: UTF8.self).hasPrefix("sleep\0\(argument)")
                    } == true
            } == true
        }
    }

    /// Without TUN, the kernel's token bucket still limits the rate.
    @Suite(.tags(.measuresTime), .enabled(if: NetworkBed.obstacle == nil, "\(NetworkBed.obstacle ?? "")"))
    struct TokenBucketTests {
        @Test func `the token bucket shapes a rate`() async throws {
            let link = EmulatedLink(rate: 20e6)
            try await Rig.with(NetworkBed.Configuration(link, shaper: .tbf)) { rig in
                for number in 0..<4 { _ = try rig.upload("/\(number)", bytes: 100_000_000) }
                // The token bucket also counts the 14 bytes of the Ethernet header.
                let rate = try await rig.goodput(after: .seconds(2), over: .seconds(3)) * 1514 / 1500
                #expect((0.92...1.06).contains(rate / link.payloadCeiling), "\(rate / link.payloadCeiling)")
            }
        }
    }
}

/// The subject of a test: a network bed with one destination, and curl as the client.
private struct Rig {
    let directory: TemporaryDirectory
    let bed: NetworkBed
    let destination: BedDestination

    static func with(_ plan: NetworkBed.Configuration, _ body: (Rig) async throws -> Void) async throws {
        let directory = try TemporaryDirectory("bed")
        defer { directory.remove() }
        try await NetworkBed.with(plan, in: directory.path) { bed in
            print("shaper: \(bed.shaper), \(plan.congestion)")
            try await body(Rig(directory: directory, bed: bed, destination: BedDestination(bed, in: directory.path)))
        }
    }

    /// Makes a file of zeros without blocks, once: a second creation would empty it for a moment while others
    /// read it.
    func file(bytes: Int) throws -> String {
        let path = "\(directory.path)/zeros-\(bytes)"
        if FileManager.default.fileExists(atPath: path) { return path }
        guard FileManager.default.createFile(atPath: path, contents: nil), truncate(path, bytes) == 0 else {
            throw Missed("cannot make \(path)")
        }
        return path
    }

    func start(_ arguments: [String]) throws -> ChildProcess {
        guard let curl = program("curl") else { throw Missed("curl is not installed") }
        return try bed.start(in: .client, [curl, "-sS", "--connect-timeout", "5"] + arguments)
    }

    func curl(_ arguments: [String]) async throws -> String {
        let child = try start(arguments)
        let ending = try await child.end(within: .seconds(30))
        guard ending == .exited(0) else { throw Missed("curl ended with \(ending): \(child.errors)") }
        return child.output
    }

    func upload(_ path: String, bytes: Int, to other: BedDestination? = nil) throws -> ChildProcess {
        try start(["--fail", "-T", file(bytes: bytes), (other ?? destination).origin + path])
    }

    /// Waits until this number of bytes has arrived.
    func received(_ bytes: Int64) async throws {
        try await until("\(bytes) bytes") { try await destination.statistics().bytes() >= bytes }
    }

    /// Measures the received bytes of bodies per second, after a wait.
    func goodput(after wait: Duration, over span: Duration) async throws -> Double {
        let start = MonotonicTime.now + wait
        let end = start + span
        try await until("the end of \(span)") { MonotonicTime.now > end + .seconds(0.1) }
        return Double(try await destination.statistics().bytes(from: start, to: end)) / span.seconds
    }

    /// Measures the traffic of the shared link for four seconds, after a wait. The passing of time is the
    /// condition here.
    func carried(by link: EmulatedLink, after wait: Duration) async throws -> Carried {
        guard let rate = link.rate else { throw Missed("a link without a rate") }
        var marks: [(bytes: Int64, at: MonotonicTime)] = []
        let start = MonotonicTime.now + wait
        for step in 0...8 {
            let moment = start + .seconds(Double(step) / 2)
            try await until("step \(step)") { MonotonicTime.now > moment }
            marks.append(try await bed.delivered(.up))
        }
        let last = marks[8]
        try await until("the packets in flight") { MonotonicTime.now > last.at + .seconds(0.1) }
        let bodies = Double(try await destination.statistics().bytes(from: marks[0].at, to: last.at))
        func share(_ from: Int, _ to: Int) -> Double {
            Double(marks[to].bytes - marks[from].bytes) * 8 / (marks[to].at - marks[from].at).seconds / rate
        }
        let wire = share(0, 8)
        let steps = (0..<8).map { share($0, $0 + 1) }.sorted()
        return Carried(
            wire: wire, usual: steps[4], best: steps[7],
            bodies: bodies / (last.at - marks[0].at).seconds / link.payloadCeiling / wire)
    }
}

/// Measured traffic relative to the capacity of a link.
private struct Carried: CustomStringConvertible {
    /// The share of the rate over four seconds, and in the median of the half seconds. Where the machine
    /// stops the link or the senders for a moment, the queue runs empty and one step is low.
    let wire: Double
    let usual: Double
    /// The share in the best half second.
    let best: Double
    /// The received bodies relative to the capacity of full packets.
    let bodies: Double

    var description: String { "\(usual) of the rate, at best \(best), \(wire) over all, bodies \(bodies)" }
}
