import Commands
import Foundation
import Sluice
import TestSupport

extension Scenario {
    /// Thousands of destinations on addresses of 127/8 in the client's network. One process listens on all of them; the
    /// dead half has a port that nothing listens on. Each step has a limit in time, so that a program which does not
    /// reach the next state is still measured in all the others.
    static let manyDestinations = Scenario(
        name: "many-destinations",
        title: "5,000 destinations on loopback, half of which refuse connections, and 1,000 commands to one that lives "
            + "(below 30 s: 200 destinations; from 300 s on: 20,000)",
        uplink: EmulatedLink(),
        targets: [
            Target("1,000 commands beside the dead (s)", .atMost(2)),
            Target("coordinator (MB)", .atMost(150)), Target("coordinator, dead ones wait (% of a core)", .atMost(5)),
            Target("coordinator, idle (% of a core)", .atMost(1)),
            Target("first dispatch after SIGKILL (s)", .atMost(2)), Target("pause holds after (ms)", .atMost(100)),
            Target("coordinators that died", .atMost(0)),
            Target("coordinators that died at the pause", .atMost(0)), Target("lines of status", .atMost(60)),
            Target("lines of network", .atMost(60)),
        ], arms: [.ours], neighbours: 0
    ) { stage in
        let loopback = try await LoopbackDestinations(stage, count: size(seconds: stage.seconds))
        stage.record.set("destinations", Double(loopback.count))
        try await stage.startSluice()
        stage.start()

        let alone = try await loopback.seconds(of: 1000, kind: "alone", within: 60)
        stage.record.set("1,000 commands alone (s)", alone)

        // Half of all that wait is for the dead, four a destination.
        stage.mark("\(loopback.count) destinations")
        let dead = try await loopback.submitToDead(4)
        let submitted = MonotonicMoment.now
        let living = try await loopback.submitToLiving(2, kind: "living")
        let areDone = try await stage.holds(within: 45) { try await loopback.succeeded("living") >= living.count }
        if areDone { stage.record.set("all living ones done after (s)", .now - submitted) }
        stage.record.set("commands of living ones done", Double(try await loopback.succeeded("living")))
        stage.record.set(
            "1,000 commands beside the dead (s)",
            try await loopback.seconds(of: 1000, kind: "beside", within: 30))
        stage.record.set("lines of status", Double(try await stage.lines("status")))
        stage.record.set("lines of network", Double(try await stage.lines("network")))
        stage.record.set(
            "coordinator, dead ones wait (% of a core)", try await stage.coordinatorLoad(for: 8))
        stage.record.set(
            "coordinator (MB)", try await stage.coordinator().flatMap(Facts.peakMemory))
        stage.record.set("coordinators that died", Double(stage.deaths(of: "coordinator")))

        if let coordinator = try await stage.coordinator() {
            stage.mark("SIGKILL")
            let killed = MonotonicMoment.now
            stage.kill([coordinator])
            _ = try await loopback.seconds(of: 1, kind: "restarted", within: 30)
            stage.record.set(
                "first dispatch after SIGKILL (s)",
                try await loopback.server.count(below: "/restarted/").firstBegin.map { $0 - killed })
        }

        stage.mark("cancelled")
        await stage.cancel(dead)
        await stage.cancel(living)
        // What is remembered of the last traffic is written and forgotten meanwhile.
        try await stage.pause(3)
        stage.record.set("coordinator, idle (% of a core)", try await stage.coordinatorLoad(for: 8))

        let deaths = stage.deaths(of: "coordinator")
        try await loopback.measurePause()
        stage.record.set("coordinators that died at the pause", Double(stage.deaths(of: "coordinator") - deaths))
    }

    private static func size(seconds: Double) -> Int { seconds < 30 ? 200 : seconds < 300 ? 5000 : 20_000 }
}

extension Stage {
    /// Lines that a subcommand prints.
    fileprivate func lines(_ subcommand: String) async throws -> Int {
        try await sluice(subcommand).split(separator: "\n").count
    }

    /// Percent of a core that the coordinator uses; one that dies meanwhile has used what it had: nil.
    fileprivate func coordinatorLoad(for seconds: Double) async throws -> Double? {
        guard let process = try await coordinator(), let before = Facts.processorTime(of: process) else { return nil }
        let begin = MonotonicMoment.now
        try await pause(seconds)
        return Facts.processorTime(of: process).map { ($0 - before) / (.now - begin) * 100 }
    }
}

/// Destinations of which half answer, and half refuse connections.
private struct LoopbackDestinations {
    let stage: Stage
    let count: Int
    let server: BedDestination
    private let file: String

    private static let port = 8080
    private static let deadPort = 8081

    init(_ stage: Stage, count: Int) async throws {
        self.stage = stage
        self.count = count
        server = try await BedDestination(loopbackOf: stage.bed, port: Self.port, in: stage.place.path)
        try await server.run("* * : read; answer 201")
        file = try stage.place.file("small", [UInt8](repeating: 0x61, count: 1000))
    }

    // MARK: Commands

    /// - Parameter origins: of the commands, in their order.
    private func submit(
        _ origins: [String], kind: String, qos: Commands.QualityOfService = .default
    ) async throws -> [CommandID] {
        var options = SubmitOptions()
        options.qos = qos
        let drafts = try origins.enumerated().map { number, origin in
            try stage.client.draft(
                "upload",
                payload: [
                    "file": .string(file), "to": .string("\(origin)/\(kind)/\(number)"), "protocol": "put",
                ], options: options)
        }
        var ids: [CommandID] = []
        // As many at once as `sluice submit` commits.
        for start in stride(from: 0, to: drafts.count, by: 4096) {
            let batch = Array(drafts[start..<min(start + 4096, drafts.count)])
            ids += try await stage.client.submit(bulk: batch).map { try $0.get() }
        }
        return ids
    }

    func submitToDead(_ each: Int) async throws -> [CommandID] {
        let origins = (0..<count / 2).map { BedDestination.origin(loopback: $0, net: 2, port: Self.deadPort) }
        return try await submit((0..<each).flatMap { _ in origins }, kind: "dead")
    }

    func submitToLiving(_ each: Int, kind: String) async throws -> [CommandID] {
        let origins = (0..<count / 2).map { server.origin(loopback: $0) }
        return try await submit((0..<each).flatMap { _ in origins }, kind: kind)
    }

    func succeeded(_ kind: String) async throws -> Int { try await server.count(below: "/\(kind)/").succeeded }

    /// Seconds from the submit of `number` commands to one living destination until all are answered.
    /// - Returns: nil where that takes longer than the limit.
    func seconds(of number: Int, kind: String, within limit: Double) async throws -> Double? {
        let begin = MonotonicMoment.now
        _ = try await submit([String](repeating: server.origin, count: number), kind: kind)
        guard try await stage.holds(within: limit, { try await succeeded(kind) >= number }) else {
            stage.record.set("\(kind): commands done of \(number)", Double(try await succeeded(kind)))
            return nil
        }
        return try await server.count(below: "/\(kind)/").lastEnd.map { $0 - begin }
    }

    // MARK: A pause

    /// How soon nothing of a quality begins any more where 1,000 destinations have a deep backlog of it.
    func measurePause() async throws {
        let deep = 1000
        try await server.run("* * : read; wait 20ms; answer 201")
        let origins = (0..<deep).map { BedDestination.origin(loopback: $0, net: 3, port: Self.port) }
        _ = try await submit((0..<100).flatMap { _ in origins }, kind: "deep", qos: .utility)
        // A pause shows something only where commands start until it is there.
        let flows = try await stage.holds(within: 20) {
            let count = try await server.count(below: "/deep/")
            return count.succeeded >= deep && count.lastBegin.map { .now - $0 < 0.1 } == true
        }
        guard flows else {
            let count = try await server.count(below: "/deep/")
            stage.record.notes.append("the deep backlog did not flow: \(count.succeeded) of its commands were done")
            return
        }
        stage.mark("pause")
        let said = MonotonicMoment.now
        _ = try await stage.sluice("pause", "--qos", "utility")
        let committed = MonotonicMoment.now
        stage.record.set("pause returns after (ms)", (committed - said) * 1000)
        // It holds where nothing begins for a second.
        var last = try await server.count(below: "/deep/")
        let holds = try await stage.holds(within: 20) {
            let now = try await server.count(below: "/deep/")
            if now.begun != last.begun { last = now }
            return last.lastBegin.map { .now - $0 > 1 } ?? true
        }
        guard holds, let end = last.lastBegin else { return }
        stage.record.set("pause holds after (ms)", max(0, end - committed) * 1000)
    }
}
