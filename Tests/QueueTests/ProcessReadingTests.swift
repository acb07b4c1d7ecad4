import Commands
import Console
import Host
import Membership
import NetworkControl
import Store
import TestSupport
import Testing
import UploadSpool

@testable import Queue

@Suite struct ProcessReadingTests {
    @Test func `a worker is lost when its seat's lock is free, and ready while it is held`() throws {
        try InspectionRig.with { rig in
            #expect(try rig.queue.workers().isEmpty)
            try rig.openSession()
            #expect(try rig.queue.workers().map(\.state) == [.lost])
            let seat = try rig.takeSeat()
            #expect(try rig.queue.workers().map(\.state) == [.ready])
            withExtendedLifetime(seat) {}
        }
    }

    @Test func `a worker's stored concurrency counts only for its own process`() throws {
        try InspectionRig.with { rig in
            try rig.openSession()
            let pid = try #require(try rig.store.sessions().first?.pid)
            for (stored, expected) in [(pid, 16), (pid + 1, nil)] as [(Int32, Int?)] {
                let info = WorkerInfo(pid: stored, concurrency: 16, types: ["noop"])
                try rig.store.set(SettingKey.worker(seat: 0), to: info.setting)
                #expect(try rig.queue.workers().first?.concurrency == expected)
            }
        }
    }

    @Test func `claimed commands are counted by shard and listed by age`() throws {
        try InspectionRig.with { rig in
            try rig.openSession()
            let commands = try (0..<20).map { _ in try rig.claim(rig.submit()) }
            let worker = try #require(try rig.queue.workers().first)
            #expect(worker.inFlight == 20)
            #expect(worker.claims.count == rig.store.shardCount)
            #expect(Set(worker.running.map(\.id)) == Set(commands.map(\.id)))
        }
    }

    @Test func `the coordinator runs while its lock is held`() throws {
        try InspectionRig.with { rig in
            #expect(rig.queue.coordinator == nil)
            let lock = try #require(try rig.directory.run.take(.coordinator))
            #expect(rig.queue.coordinator != nil)
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `the figures of the spool are those of a door while its lock is held`() throws {
        try InspectionRig.with { rig in
            _ = try rig.place.file(
                "data/run/door.spool", Array(#"{"used": 700, "promised": 0, "free": 9000, "floor": 0}"#.utf8))
            func used() -> Int64? { rig.queue.spoolFigures(UploadLimits())?.used }
            #expect(used() != 700, "the door has ended")
            let lock = try #require(try rig.directory.run.take(.door))
            #expect(used() == 700)
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `pauses are read back from their settings, and other keys are left out`() throws {
        try InspectionRig.with { rig in
            let since = rig.now.description
            let entries = [
                Pause(qos: nil, destination: nil, since: since),
                Pause(qos: .background, destination: InspectionRig.origin, since: since),
            ]
            for entry in entries { try rig.store.set(entry.key, to: entry.since) }
            try rig.store.set("pause.sometimes.*", to: since)
            let read = try rig.queue.pauses()
            #expect(read.count == 2)
            #expect(read.allSatisfy { entries.contains($0) })
            #expect(entries[0].scope == "everything")
            #expect(entries[1].sentence == "background commands to \(InspectionRig.origin), since \(since)")
            #expect(entries[1].resume == "sluice resume --qos background --destination \(InspectionRig.origin)")
        }
    }

    @Test func `events have an endpoint in run`() throws {
        try InspectionRig.with { rig in
            let endpoint = rig.queue.eventsEndpoint(coordinator: Holder(pid: nil))
            #expect(endpoint == "ipc://\(rig.directory.run.path)/events.sock")
        }
    }

    // MARK: Links

    @Test func `links without a coordinator are those that the last one stored`() async throws {
        let rig = try await links()
        defer { rig.place.remove() }
        let links = try await LinkSource(rig.queue).readings()
        #expect(links.map(\.destination) == ["http://b.example:80", "http://a.example:80"])
        #expect(links.map(\.level) == [.offline, .poor])
    }

    @Test func `a setting of a person wins over the stored level`() async throws {
        let rig = try await links()
        defer { rig.place.remove() }
        let destination = try #require(Destination("http://a.example:80"))
        let setting = LinkOverrideSetting(LinkOverride(isOffline: false, maxRate: 250_000), since: rig.now)
        try rig.store.set(SettingKey.network(destination), to: setting.setting)
        let named = LinkOverrideSetting(LinkOverride(isOffline: true), since: rig.now)
        try rig.store.set(SettingKey.network(InspectionRig.origin), to: named.setting)
        let links = try await LinkSource(rig.queue).readings()
        #expect(links.first { $0.destination == destination.text }?.maxRate == 250_000)
        #expect(links.first { $0.destination == InspectionRig.origin.text }?.isForced == true)
        let overview = try await LinkSource(rig.queue).overview(limit: 1)
        #expect(overview.shown.count == 1 && overview.count == 3)
    }

    private func links() async throws -> InspectionRig {
        let rig = try InspectionRig.make()
        try rig.store.set("link.up.http://a.example:80", to: #"{"level":"poor","limit":2}"#)
        try rig.store.set("link.up.http://b.example:80", to: #"{"level":"offline"}"#)
        try rig.store.set("link.up.http://c.example:80", to: "no JSON")
        try rig.store.set(SettingKey.linkWatched, to: "1772368496000")
        return rig
    }
}
