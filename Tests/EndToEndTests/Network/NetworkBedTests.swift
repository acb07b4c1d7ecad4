import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// The test bed itself: what is measured on a wrong link is worth nothing.
    @Suite(
        .enabled(if: NetworkBed.obstacleOfPackets == nil, "\(NetworkBed.obstacleOfPackets ?? "")"),
        .enabled(if: isAvailable(program("curl") != nil), "curl is not installed"))
    struct NetworkBedTests {
        /// Bodies that arrive as a share of what full packets carry. It may be above 1: what came behind a lost packet is
        /// handed over when that has been sent again.
        private static let plausible = 0.92...1.06

        /// Four and more: one flow alone leaves a gap after a loss, which is TCP's doing and not the link's (0.79 of the rate
        /// in one of four runs on a busy machine).
        @Test(arguments: [4, 16], NetworkBed.congestionControls)
        func `flows share exactly the link's rate`(flows: Int, congestion: String) async throws {
            let link = EmulatedLink.megabits(20)
            try await Rig.with(NetworkBed.Plan(link, congestion: congestion)) { rig in
                let uploads = try (0..<flows).map { try rig.upload("/\($0)", bytes: 100_000_000) }
                let carried = try await rig.carried(by: link, after: .seconds(2))
                print("\(congestion), \(flows) flows: \(carried)")
                // Now and then bbr sends a little less on purpose, to see the round trip without a queue.
                #expect((congestion == "bbr" ? 0.95...1.01 : 0.98...1.01).contains(carried.usual))
                #expect(carried.wire < 1.01)
                #expect(Self.plausible.contains(carried.bodies))
                for upload in uploads { #expect(upload.ending == nil, "\(upload.errors)") }
            }
        }

        @Test func `100 Mbit/s at 50 ms`() async throws {
            let link = EmulatedLink.megabits(100)
            try await Rig.with(NetworkBed.Plan(link)) { rig in
                for number in 0..<4 { _ = try rig.upload("/\(number)", bytes: 500_000_000) }
                let carried = try await rig.carried(by: link, after: .seconds(2))
                print("100 Mbit/s: \(carried)")
                // Ten thousand packets a second need a machine that has time for them, which a busy one has not always.
                // What came late at the end of one half second counts in the next; over all it is never more than the rate.
                #expect((0.97...1.05).contains(carried.best))
                #expect(carried.wire < 1.01)
                #expect(Self.plausible.contains(carried.bodies))
            }
        }

        @Test func `a link bends while traffic flows`() async throws {
            try await Rig.with(NetworkBed.Plan(.megabits(20))) { rig in
                _ = try rig.upload("/a", bytes: 100_000_000)
                try await rig.received(1_000_000)
                let slow = EmulatedLink.megabits(2)
                try await rig.bed.change(slow)
                // Packets that were under way keep their time of arrival.
                let carried = try await rig.carried(by: slow, after: .seconds(1))
                #expect((0.98...1.02).contains(carried.usual), "\(carried)")
                #expect(carried.wire < 1.02)
            }
        }

        @Test func `a blackout is silent, and passes`() async throws {
            try await Rig.with(NetworkBed.Plan(.megabits(20))) { rig in
                let upload = try rig.upload("/a", bytes: 5_000_000)
                try await rig.received(1_000_000)
                let dark = try await rig.bed.blackout(true)
                let light = dark + 1.5
                try await until("a second and a half of darkness") { MonotonicMoment.now > light }
                try await rig.bed.blackout(false)
                #expect(try await upload.end(within: .seconds(30)) == .exited(0))
                let received = try await rig.destination.statistics()
                // One step of 50 ms may have begun in the light.
                #expect(received.bytes(from: dark + 0.05, to: light) == 0)
                #expect(received.bytes() == 5_000_000)
            }
        }

        @Test(.enabled(if: NetworkBed.congestionControls.contains("bbr"), "this kernel has no bbr"))
        func `so much is lost as was asked for`() async throws {
            let lossy = EmulatedLink.megabits(20, roundTrip: .milliseconds(10), loss: 0.05)
            try await Rig.with(NetworkBed.Plan(lossy, congestion: "bbr")) { rig in
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
            try await Rig.with(NetworkBed.Plan(link)) { rig in
                var endings: [ChildProcess.Exit?] = []
                for number in 0..<6 {
                    endings.append(try await rig.upload("/\(number)", bytes: 1000).end(within: .seconds(10)))
                }
                // 7: curl could not connect.
                #expect(
                    endings == [.exited(0), .exited(0), .exited(7), .exited(0), .exited(0), .exited(7)], "\(endings)")
                let up = try #require(try await rig.bed.links().elements?.first?["up"])
                #expect(up["reset"]?.integer == 2)
            }
        }

        @Test func `destinations have links of their own below the shared one`() async throws {
            let own = EmulatedLink.megabits(4)
            try await Rig.with(NetworkBed.Plan(.megabits(20), destinations: [own, nil])) { rig in
                let other = try await BedDestination(rig.bed, number: 2, in: rig.place.path)
                _ = try rig.upload("/a", bytes: 100_000_000)
                for number in 0..<4 { _ = try rig.upload("/\(number)", bytes: 100_000_000, to: other) }
                let start = MonotonicMoment.now
                try await until("two seconds of traffic") { MonotonicMoment.now - start > 2 }
                let before = try await rig.bed.delivered(.up)
                try await until("three more") { MonotonicMoment.now - before.at > 3 }
                let after = try await rig.bed.delivered(.up)
                let one = try await rig.destination.statistics().bytes(from: before.at, to: after.at)
                let two = try await other.statistics().bytes(from: before.at, to: after.at)
                #expect(Double(one) / (after.at - before.at) < own.payloadCeiling * 1.08)
                let shared = EmulatedLink.megabits(20)
                let bodies = Double(after.bytes - before.bytes) * shared.payloadCeiling / (shared.rate! / 8)
                #expect(Self.plausible.contains(Double(one + two) / bodies), "\(one), \(two) of \(bodies)")
            }
        }

        @Test func `a route that is gone is gone at once`() async throws {
            try await Rig.with(NetworkBed.Plan(.megabits(20))) { rig in
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

        @Test func `what is cut is kept and goes on by tus`() async throws {
            try await Rig.with(NetworkBed.Plan(.megabits(20))) { rig in
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
                let rest = try rig.place.file("rest", [UInt8](repeating: 0, count: 3_000_000 - Int(offset)))
                _ = try await rig.curl(
                    patch.dropLast() + [rest, "-H", "Upload-Offset: \(offset)"] + version + ["\(origin)/tus/1"])
                #expect(try await rig.destination.files()["/tus/1"]?.kept == 3_000_000)
                #expect(try await rig.destination.statistics().bytes() == 3_000_000)
            }
        }

        @Test func `a destination refuses, is full, is slow`() async throws {
            try await Rig.with(NetworkBed.Plan(.megabits(50, roundTrip: .milliseconds(4)))) { rig in
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
                let rate = Double(request.received) * 8 / (try #require(request.end) - request.begin)
                #expect((7e6...8.5e6).contains(rate), "\(rate)")
            }
        }

        @Test func `Sluice uploads through the link`() async throws {
            try await Rig.with(NetworkBed.Plan(.megabits(20))) { rig in
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
                // Of a million zeros.
                #expect(kept.sha256 == "d29751f2649b32ff572b5e0a9f541ea660a50f94ff0beedfb0b692b924cc8025")
            }
        }

        @Test func `nothing outlives the bed`() async throws {
            let place = try TemporaryDirectory("bed")
            defer { place.remove() }
            let bed = try await NetworkBed(NetworkBed.Plan(.megabits(20)), in: place.path)
            // Started by the process that is started, and so not the bed's own child.
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

    /// Where TUN is missing, the kernel's token bucket still gives a rate.
    @Suite(.enabled(if: NetworkBed.obstacle == nil, "\(NetworkBed.obstacle ?? "")"))
    struct TokenBucketTests {
        @Test func `the token bucket shapes a rate`() async throws {
            let link = EmulatedLink(rate: 20e6)
            try await Rig.with(NetworkBed.Plan(link, shaper: .tbf)) { rig in
                for number in 0..<4 { _ = try rig.upload("/\(number)", bytes: 100_000_000) }
                // It counts Ethernet's 14 bytes too.
                let rate = try await rig.goodput(after: .seconds(2), over: .seconds(3)) * 1514 / 1500
                #expect((0.92...1.06).contains(rate / link.payloadCeiling), "\(rate / link.payloadCeiling)")
            }
        }
    }
}

/// A bed with one destination, and curl as the client.
private struct Rig {
    let place: TemporaryDirectory
    let bed: NetworkBed
    let destination: BedDestination

    static func with(_ plan: NetworkBed.Plan, _ body: (Rig) async throws -> Void) async throws {
        let place = try TemporaryDirectory("bed")
        defer { place.remove() }
        try await NetworkBed.with(plan, in: place.path) { bed in
            print("shaper: \(bed.shaper), \(plan.congestion)")
            try await body(Rig(place: place, bed: bed, destination: BedDestination(bed, in: place.path)))
        }
    }

    /// A file of zeros without blocks. It is made once: made anew, it would be empty for a moment to those that begin to read.
    func file(bytes: Int) throws -> String {
        let path = "\(place.path)/zeros-\(bytes)"
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

    /// Waits until so many bytes have come.
    func received(_ bytes: Int64) async throws {
        try await until("\(bytes) bytes") { try await destination.statistics().bytes() >= bytes }
    }

    /// Bytes per second of bodies that arrive from a while after now on.
    func goodput(after wait: Duration, over span: Duration) async throws -> Double {
        let start = MonotonicMoment.now + Self.seconds(wait)
        let end = start + Self.seconds(span)
        try await until("the end of \(span)") { MonotonicMoment.now > end + 0.1 }
        return Double(try await destination.statistics().bytes(from: start, to: end)) / Self.seconds(span)
    }

    /// What the shared link carries for four seconds, from a while after now on.
    func carried(by link: EmulatedLink, after wait: Duration) async throws -> Carried {
        guard let rate = link.rate else { throw Missed("a link without a rate") }
        var marks: [(bytes: Int64, at: MonotonicMoment)] = []
        let start = MonotonicMoment.now + Self.seconds(wait)
        for step in 0...8 {
            let moment = start + Double(step) / 2
            try await until("step \(step)") { MonotonicMoment.now > moment }
            marks.append(try await bed.delivered(.up))
        }
        let last = marks[8]
        try await until("what is under way") { MonotonicMoment.now > last.at + 0.1 }
        let bodies = Double(try await destination.statistics().bytes(from: marks[0].at, to: last.at))
        func share(_ from: Int, _ to: Int) -> Double {
            Double(marks[to].bytes - marks[from].bytes) * 8 / (marks[to].at - marks[from].at) / rate
        }
        let wire = share(0, 8)
        let steps = (0..<8).map { share($0, $0 + 1) }.sorted()
        return Carried(
            wire: wire, usual: steps[4], best: steps[7],
            bodies: bodies / (last.at - marks[0].at) / link.payloadCeiling / wire)
    }

    private static func seconds(_ duration: Duration) -> Double { Double(duration.components.seconds) }
}

/// Shares of what a link can carry.
private struct Carried: CustomStringConvertible {
    /// Of the rate, in four seconds, and in the median of half seconds: where the machine gives link or senders no time for
    /// a moment, the queue runs dry and a step is lost, which is not the link's doing.
    let wire: Double
    let usual: Double
    /// In the best of the half seconds.
    let best: Double
    /// Bodies that arrived, of those that full packets would have carried.
    let bodies: Double

    var description: String { "\(usual) of the rate, at best \(best), \(wire) over all, bodies \(bodies)" }
}
