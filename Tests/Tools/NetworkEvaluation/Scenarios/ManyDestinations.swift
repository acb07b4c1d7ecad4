import Commands
import Foundation
import Host
import Sluice
import TestSupport

extension Scenario {
    /// Thousands of destinations on addresses of 127/8 in the network of the client. One process listens on
    /// all of them; the dead half has a port without a listener. Each step has a timeout, so that the later
    /// steps are measured even if one state is not reached.
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

        // Half of the waiting commands are for dead destinations, four for each.
        stage.mark("\(loopback.count) destinations")
        let dead = try await loopback.submitToDead(4)
        let submitted = MonotonicTime.now
        let living = try await loopback.submitToLiving(2, kind: "living")
        let areDone = try await stage.holds(within: 45) { try await loopback.succeeded("living") >= living.count }
        if areDone { stage.record.set("all living ones done after (s)", (MonotonicTime.now - submitted).seconds) }
        stage.record.set("commands of living ones done", Double(try await loopback.succeeded("living")))
        stage.record.set(
            "1,000 commands beside the dead (s)",
            try await loopback.seconds(of: 1000, kind: "beside", within: 30))
        stage.record.set("lines of status", Double(try await stage.lines("status")))
        stage.record.set("lines of network", Double(try await stage.lines("network")))
        stage.record.set(
            "coordinator, dead ones wait (% of a core)", try await stage.coordinatorLoad(for: 8))
        stage.record.set(
            "coordinator (MB)", try await stage.coordinator().flatMap(Machine.peakMemory))
        stage.record.set("coordinators that died", Double(stage.deaths(of: "coordinator")))

        if let coordinator = try await stage.coordinator() {
            stage.mark("SIGKILL")
            let killed = MonotonicTime.now
            stage.kill([coordinator])
            _ = try await loopback.seconds(of: 1, kind: "restarted", within: 30)
            stage.record.set(
                "first dispatch after SIGKILL (s)",
                try await loopback.server.count(below: "/restarted/").firstBegin.map { ($0 - killed).seconds })
        }

        stage.mark("cancelled")
        await stage.cancel(dead)
        await stage.cancel(living)
        // In this time the coordinator stores and forgets the state of the last traffic.
        try await stage.pause(3)
        stage.record.set("coordinator, idle (% of a core)", try await stage.coordinatorLoad(for: 8))

        let deaths = stage.deaths(of: "coordinator")
        try await loopback.measurePause()
        stage.record.set("coordinators that died at the pause", Double(stage.deaths(of: "coordinator") - deaths))
    }

    private static func size(seconds: Double) -> Int { seconds < 30 ? 200 : seconds < 300 ? 5000 : 20_000 }
}

extension Stage {
    /// The number of lines that a subcommand prints.
    fileprivate func lines(_ subcommand: String) async throws -> Int {
        try await sluice(subcommand).split(separator: "\n").count
    }

    /// The share of a core that the coordinator uses, in percent; nil if it dies meanwhile.
    fileprivate func coordinatorLoad(for seconds: Double) async throws -> Double? {
        guard let process = try await coordinator(), let before = Machine.processorTime(of: process) else { return nil }
        let begin = MonotonicTime.now
        try await pause(seconds)
        return Machine.processorTime(of: process).map { ($0 - before) / (MonotonicTime.now - begin).seconds * 100 }
    }
}
