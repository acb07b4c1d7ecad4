import Commands
import Glibc
import Host
import Membership
import Store
import TestSupport
import Testing

@testable import Queue

@Suite struct HealthCheckTests {
    private func findings(
        _ rig: InspectionRig, sqlite: String = "3.51.3"
    ) -> (worst: Finding.State, findings: [Finding]) {
        var findings: [Finding] = []
        let libraries = Libraries(sqlite: sqlite, zeromq: "4.3.5", swift: "6.2")
        let worst = HealthCheck(.directory(rig.directory), libraries: libraries).run { findings.append($0) }
        return (worst, findings)
    }

    @Test func `a sound store without processes has only notes`() throws {
        try InspectionRig.with { rig in
            let (worst, findings) = findings(rig)
            #expect(worst == .note)
            #expect(findings.filter { $0.check.hasPrefix("shard ") }.count == rig.store.shardCount)
            #expect(findings.filter { $0.state != .ok }.map(\.check) == ["coordinator"])
        }
    }

    @Test func `a directory that other users can read is a warning with its correction`() throws {
        try InspectionRig.with { rig in
            chmod(rig.directory.spool, 0o755)
            let (worst, findings) = findings(rig)
            #expect(worst == .warning)
            let finding = try #require(findings.first { $0.check == "permissions" })
            #expect(finding.sentence.hasSuffix("has mode 755, open to other users: chmod 700 corrects it"))
            chmod(rig.directory.spool, 0o700)
        }
    }

    @Test func `a damaged shard is broken, and the others are still checked`() throws {
        try InspectionRig.with { rig in
            try rig.submitMany(2000)
            let path = rig.directory.shard(1)
            try SQLiteProbe(path).run("PRAGMA wal_checkpoint(TRUNCATE)")
            let descriptor = open(path, O_RDWR)
            defer { close(descriptor) }
            let noise = [UInt8](repeating: 0xA5, count: 8192)
            #expect(pwrite(descriptor, noise, noise.count, 3 * 4096) == noise.count)
            let (worst, findings) = findings(rig)
            #expect(worst == .broken)
            #expect(findings.first { $0.check == "shard 01" }?.state == .broken)
            #expect(findings.first { $0.check == "shard 02" }?.state == .ok)
        }
    }

    @Test func `numbers of flows that are wrong are broken, and mended on request`() throws {
        try InspectionRig.with { rig in
            let flow = FlowDraft("f", nodes: [FlowNode("a", .noop), FlowNode("b", .noop, after: ["a": .success])])
            let id = try rig.store.submit(FlowPlan(flow), allowUnknownTypes: false).submission.id
            let shard = id.shard(of: rig.store.shardCount)
            try SQLiteProbe(rig.directory.shard(shard)).run("UPDATE flow SET failed = 3")
            let (worst, found) = findings(rig)
            #expect(worst == .broken)
            let finding = try #require(found.first { $0.state == .broken })
            #expect(finding.sentence.contains("counts 3 failed nodes, and there are 0"))
            #expect(finding.sentence.hasSuffix("“sluice doctor --mend” sets the numbers right"))

            var mended: [Finding] = []
            let state = HealthCheck(.directory(rig.directory), mends: true).run { mended.append($0) }
            #expect(state == .note)
            #expect(
                mended.filter { $0.sentence.hasPrefix("mended: ") }.map(\.sentence) == [
                    "mended: command \(id) counted 3 failed nodes, and counts 0 now"
                ])
            #expect(mended.filter { $0.check.hasPrefix("shard ") }.count == rig.store.shardCount)
            let again = findings(rig)
            #expect(again.worst == .note)
        }
    }

    @Test func `shards that do not agree are broken, and tell each other again on request`() throws {
        try InspectionRig.with { rig in
            func submit(to shard: Int, after parents: [Dependency] = []) throws -> CommandID {
                for number in 0... {
                    var draft = CommandDraft.noop
                    draft.uniqueKey = "key \(number) \(CommandID())"
                    draft.dependencies = parents
                    guard rig.store.router.shard(of: draft) == shard else { continue }
                    return try rig.store.submit([draft], allowUnknownTypes: false)[0].get().id
                }
                throw Missed("no key leads to shard \(shard)")
            }
            let parent = try submit(to: 0)
            let child = try submit(to: 1, after: [Dependency(on: parent)])
            #expect(findings(rig).worst == .note)
            // As where shard 0 had its question when it was replaced by an older copy.
            try SQLiteProbe(rig.directory.shard(1)).run("DELETE FROM outbox")
            let (worst, found) = findings(rig)
            #expect(worst == .broken)
            let finding = try #require(found.first { $0.check == "shards" })
            #expect(finding.sentence.hasPrefix("command \(child) waits for \(parent), whose shard does not know that"))
            #expect(finding.sentence.hasSuffix("“sluice doctor --mend” sets that right"))
            #expect(HealthCheck(.directory(rig.directory), mends: true).run { _ in } == .note)
            #expect(findings(rig).worst == .note)
            #expect(try rig.store.outbox(shard: 1, after: 0, limit: 10).map(\.receiver) == [parent])
        }
    }

    @Test func `a missing store is a warning`() throws {
        let place = try TemporaryDirectory("doctor")
        defer { place.remove() }
        var findings: [Finding] = []
        let worst = HealthCheck(.directory(DataDirectory(path: "\(place.path)/none"))).run { findings.append($0) }
        #expect(worst == .warning)
        #expect(findings.last?.check == "store")
    }

    @Test func `a dead worker is reported with the number of its commands`() throws {
        try InspectionRig.with { rig in
            try rig.openSession()
            _ = try rig.claim(rig.submit())
            let finding = try #require(findings(rig).findings.first { $0.check == "worker 0" })
            #expect(finding.state == .note)
            #expect(finding.sentence.contains("is dead and has claimed 1 commands"))
        }
    }

    @Test func `findings of the caller count for the worst state`() throws {
        try InspectionRig.with { rig in
            let problem = Finding.configuration(problem: "“x” is not a key")
            #expect(HealthCheck(.directory(rig.directory)).run(others: [problem]) { _ in } == .warning)
        }
        let findings = Finding.configuration(path: "/etc/sluice.yaml", proxies: nil)
        #expect(findings.map(\.sentence) == ["can be used: /etc/sluice.yaml", "requests go without a proxy"])
    }

    @Test(arguments: [
        ("3.6.23", false), ("3.7.0", true), ("3.40.1", true), ("3.44.5", true), ("3.44.6", false), ("3.50.6", true),
        ("3.50.7", false), ("3.51.2", true), ("3.51.3", false), ("4.0.0", false),
    ])
    func `the WAL-reset bug is noted for the releases that have it`(_ version: String, _ isAffected: Bool) throws {
        #expect(HealthCheck.hasResetBug(HealthCheck.number(version)) == isAffected)
        try InspectionRig.with { rig in
            let finding = try #require(findings(rig, sqlite: version).findings.first { $0.check == "sqlite" })
            #expect(finding.state == (isAffected ? .note : .ok))
        }
    }
}

extension CommandDraft {
    fileprivate static let noop = CommandDraft(
        type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
}
