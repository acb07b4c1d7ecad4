import Commands
import Console
import Glibc
import Host
import Membership
import NetworkControl
import Store
import TestSupport
import Testing

@testable import Queue

/// The words of `status`, `doctor` and `explain` without an id about a queue that stands still.
@Suite struct QueueConditionTests {
    private func condition(_ rig: InspectionRig, uploadProblem: String? = nil) throws -> QueueCondition {
        try rig.store.at(rig.now + .seconds(90)) {
            try QueueCondition(rig.queue, links: [], uploadProblem: uploadProblem)
        }
    }

    // MARK: Processes without progress

    /// Others of this kind: the door and workers, and a worker in another container, whose pid no process here sees.
    @Test func `a process that has its role and is silent has stalled, also in another container`() throws {
        let place = try TemporaryDirectory("stalled")
        defer { place.remove() }
        let path = "\(place.path)/lock"
        let lock = try #require(try FileLock.attempt(path))
        lock.sign("12\n")
        let pid = LockProbe(path: path).pid
        let pulsePath = "\(place.path)/pulse"
        func stalled(_ pid: Int32?, at now: MonotonicTime) -> StalledProcess? {
            StalledProcess("door", pid: pid, pulse: LockPulse(path: pulsePath, of: path), now: now)
        }
        let now = MonotonicTime.now
        // A release that leaves no sign of life is not judged.
        #expect(stalled(pid, at: now + .seconds(60)) == nil)
        lock.beat(in: pulsePath, now: now)
        #expect(stalled(pid, at: now + .seconds(4)) == nil)
        let silent = try #require(stalled(pid, at: now + .seconds(6)))
        #expect(silent.pid == getpid() && silent.since != nil && !silent.isStopped)
        let elsewhere = try #require(stalled(nil, at: now + .seconds(6)))
        #expect(elsewhere.clause.hasSuffix("in another container") && elsewhere.remedy.contains("container"))
        // A later sign replaces the earlier one, and the lock file keeps its text, which earlier releases compare.
        lock.beat(in: pulsePath, now: now + .seconds(10))
        #expect(stalled(pid, at: now + .seconds(12)) == nil)
        #expect(TextFile.read(path) == "12\n")
        // A sign of an earlier holder counts for nothing.
        lock.sign("13\n")
        #expect(stalled(pid, at: now + .seconds(60)) == nil)
        withExtendedLifetime(lock) {}
    }

    @Test func `a process that has ended has not stalled, whatever sign of life it has left`() throws {
        try InspectionRig.with { rig in
            var lock = try rig.directory.run.take(.door)
            lock?.sign("\(getpid())\n")
            lock?.beat(in: rig.directory.run.pulse(.door), now: .now - .seconds(20))
            #expect(rig.queue.stalledDoor != nil)
            lock = nil
            #expect(rig.queue.stalledDoor == nil)
        }
    }

    @Test func `a silent coordinator is named by the condition, the health check and the reasons of a command`() throws
    {
        try InspectionRig.with { rig in
            let command = try rig.submit()
            let lock = try #require(try rig.directory.run.take(.coordinator))
            lock.sign("\(getpid())\n")
            lock.beat(in: rig.directory.run.pulse(.coordinator), now: .now - .seconds(20))
            let seat = try rig.takeSeat()
            try rig.openSession()
            let condition = try condition(rig)
            #expect(condition.problems.first?.hasPrefix("coordinator: no sign of life since 2") == true)
            #expect(condition.causes.map(\.kind) == [.process])
            let reasons = try rig.explainer().reasons(of: command)
            #expect(reasons.first { $0.name == "coordinator" }?.measured.contains("no sign of life") == true)
            var findings: [Finding] = []
            HealthCheck(.directory(rig.directory)).run { findings.append($0) }
            #expect(findings.first { $0.check == "coordinator" }?.state == .warning)
            lock.beat(in: rig.directory.run.pulse(.coordinator))
            #expect(try self.condition(rig).stalled.isEmpty)
            #expect(try rig.explainer().reasons(of: command).allSatisfy { $0.name != "coordinator" })
            withExtendedLifetime(seat) {}
        }
    }

    @Test func `a silent worker is named for the command that it executes, and for those that wait`() throws {
        try InspectionRig.with { rig in
            let seat = try rig.takeSeat()
            try rig.openSession()
            seat.beat(in: rig.directory.run.pulse(.seat(0)), now: .now - .seconds(20))
            let running = try rig.claim(try rig.submit())
            let waiting = try rig.submit()
            #expect(try rig.queue.workers().map(\.state) == [.stalled])
            let reasons = try rig.explainer().reasons(of: running)
            #expect(reasons.first?.measured.contains("makes no progress: no sign of life since") == true)
            #expect(
                try rig.explainer().reasons(of: waiting).contains { $0.measured.hasPrefix("no worker makes progress") })
            #expect(try condition(rig).problems.contains { $0.hasPrefix("worker 0: no sign of life") })
        }
    }

    // MARK: Shards and disks

    @Test func `a shard that another program has locked is named`() throws {
        try InspectionRig.with { rig in
            #expect(try condition(rig).lockedShards.isEmpty)
            let probe = try SQLiteProbe(rig.directory.shard(3))
            try probe.run("BEGIN IMMEDIATE")
            let condition = try condition(rig)
            #expect(condition.lockedShards.count == 1 && condition.lockedShards[0].hasPrefix("Shard 3 "))
            #expect(condition.findings(now: rig.now).map(\.state) == [.warning])
            try probe.run("ROLLBACK")
        }
    }

    @Test func `a running command whose shard is locked has the lock among its reasons`() throws {
        try InspectionRig.with { rig in
            let seat = try rig.takeSeat()
            try rig.openSession()
            let command = try rig.claim(try rig.submit())
            let probe = try SQLiteProbe(rig.directory.shard(command.id.shard(of: rig.store.shardCount)))
            try probe.run("BEGIN IMMEDIATE")
            #expect(try rig.explainer().reasons(of: command).map(\.name).contains("shard"))
            try probe.run("ROLLBACK")
            withExtendedLifetime(seat) {}
        }
    }

    @Test func `a spool that refuses uploads is a warning`() throws {
        try InspectionRig.with { rig in
            #expect(mkdir(rig.directory.uploads, 0o700) == 0)
            #expect(try condition(rig).fullDisks.isEmpty)
            let full = try condition(rig, uploadProblem: "uploads are refused")
            #expect(full.fullDisks == ["uploads are refused"])
            #expect(full.findings(now: rig.now).map(\.state) == [.warning])
        }
    }

    // MARK: Causes of waiting

    @Test func `the causes of waiting have their counts and the age of the oldest`() throws {
        try InspectionRig.with { rig in
            #expect(try condition(rig).causes.isEmpty)
            try rig.submitMany(12)
            let condition = try condition(rig)
            #expect(
                condition.causes.map { $0.line(now: rig.now + .seconds(90)) } == [
                    "12 commands wait, the oldest for 1m 30s. media.example.com: no coordinator runs"
                ])
            #expect(condition.findings(now: rig.now).map(\.state) == [.note])
            #expect(condition.causes.first?.json["count"]?.integer == 12)
        }
    }
}
