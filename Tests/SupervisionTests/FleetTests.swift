import Host
import Testing

@testable import Supervision

@Suite struct FleetTests {
    private static func fleet() -> Fleet {
        Fleet(
            [shell("coordinator", "", stage: .last), shell("worker-1", ""), shell("worker-2", "")],
            policy: RestartPolicy())
    }

    private static func running() -> Fleet {
        var fleet = fleet()
        for (number, name) in ["coordinator", "worker-1", "worker-2"].enumerated() {
            #expect(fleet.started(name, pid: Int32(100 + number), now: .zero) == [])
        }
        return fleet
    }

    private static func end(
        _ fleet: inout Fleet, _ name: String, at now: MonotonicTime = .zero, status: ChildExit.Status = .exited(3)
    ) -> (isIntentional: Bool, next: Fleet.Next, actions: [Fleet.Action]) {
        fleet.exited(name, now: now) { isIntentional in
            ChildExit(name: name, pid: 1, status: status, isIntentional: isIntentional, lastLines: [])
        }
    }

    private func term(_ name: String) -> Fleet.Action { .signal(name: name, number: 15) }
    private func kill(_ name: String) -> Fleet.Action { .signal(name: name, number: 9) }

    @Test func `a stop ends the workers, and the coordinator when they are gone`() {
        var fleet = Self.running()
        #expect(fleet.stop() == [term("worker-1"), term("worker-2"), .beginGrace(.stage(.first))])
        var end = Self.end(&fleet, "worker-2")
        #expect(end.isIntentional && end.next == .end && end.actions.isEmpty)
        end = Self.end(&fleet, "worker-1")
        #expect(end.actions == [term("coordinator"), .beginGrace(.stage(.last))])
        end = Self.end(&fleet, "coordinator")
        #expect(end.isIntentional && end.actions == [.allGone])
    }

    @Test func `a coordinator that dies while the workers drain is started again`() {
        var fleet = Self.running()
        _ = fleet.stop()
        let end = Self.end(&fleet, "coordinator")
        #expect(!end.isIntentional && end.next == .restart(after: .milliseconds(100)))
        #expect(fleet.mayStart("coordinator") && !fleet.mayStart("worker-1"))
    }

    @Test func `the second stop kills all that is left`() {
        var fleet = Self.running()
        _ = fleet.stop()
        _ = Self.end(&fleet, "worker-1")
        #expect(fleet.stop() == [kill("coordinator"), kill("worker-2")])
        #expect(fleet.stop() == [])
        #expect(Self.end(&fleet, "coordinator").actions.isEmpty)
        #expect(Self.end(&fleet, "worker-2").actions == [.allGone])
    }

    @Test func `the death of a child that was ready does not count towards the limit`() {
        var fleet = Self.running()
        for number in 0..<20 {
            let end = fleet.exited("worker-1", wasReady: true, now: MonotonicTime(nanoseconds: Int64(number))) {
                ChildExit(name: "worker-1", pid: 1, status: .exited(3), isIntentional: $0, lastLines: [])
            }
            #expect(end.next != .end)
            _ = fleet.started("worker-1", pid: 300 + Int32(number), now: .zero)
        }
        #expect(fleet.failure == nil)
        for _ in 0..<4 {
            _ = Self.end(&fleet, "worker-1")
            _ = fleet.started("worker-1", pid: 400, now: .zero)
        }
        #expect(Self.end(&fleet, "worker-1").next == .end)
        #expect(fleet.failure != nil)
    }

    /// A full disk (74), a directory that cannot be made yet (73), a lock that is held (75), and a system without processes
    /// or descriptors. Of the other instances of a passing condition taken for a final one, the systemd units named 73.
    @Test(
        arguments: [.exited(73), .exited(74), .exited(75), .notStarted("no process", mayPass: true)]
            as [ChildExit.Status])
    func `a child that may start later is tried every five seconds and ends no other`(_ status: ChildExit.Status) {
        for name in ["coordinator", "worker-1"] {
            var fleet = Self.running()
            for _ in 0..<100 {
                let end = Self.end(&fleet, name, status: status)
                #expect(end.next == .restart(after: .seconds(5)) && end.actions.isEmpty)
                _ = fleet.started(name, pid: 7, now: .zero)
            }
            #expect(fleet.failure == nil && fleet.progress == .running)
        }
    }

    @Test func `a worker that may start later again counts its other failures`() {
        var fleet = Self.running()
        for _ in 0..<20 { _ = Self.end(&fleet, "worker-1", status: .exited(74)) }
        for _ in 0..<4 { #expect(Self.end(&fleet, "worker-1", status: .exited(70)).next != .end) }
        #expect(Self.end(&fleet, "worker-1", status: .exited(70)).next == .end)
    }

    @Test func `a child that is not essential never ends the others, whatever its failure`() {
        var door = shell("door", "")
        door.isEssential = false
        var fleet = Fleet([shell("worker-1", ""), door], policy: RestartPolicy())
        for status in [.exited(78), .exited(75), .signaled(4), .exited(0)] as [ChildExit.Status] {
            for _ in 0..<20 {
                _ = fleet.started("door", pid: 7, now: .zero)
                let end = Self.end(&fleet, "door", status: status)
                #expect(end.next != .end && end.actions.isEmpty)
            }
        }
        #expect(fleet.failure == nil)
    }

    @Test func `a stop in turn ends one child after the other, and restarts the others meanwhile`() {
        var fleet = Self.running()
        #expect(fleet.stopInTurn() == [term("worker-1"), .beginGrace(.child("worker-1"))])
        #expect(Self.end(&fleet, "worker-2").next == .restart(after: .milliseconds(100)))
        #expect(fleet.started("worker-2", pid: 202, now: .zero) == [])
        #expect(fleet.graceEnded(.child("worker-1")) == [kill("worker-1")])
        #expect(fleet.stopInTurn() == [], "it runs already")
        let end = Self.end(&fleet, "worker-1")
        #expect(end.next == .end && end.actions == [term("worker-2"), .beginGrace(.child("worker-2"))])
        #expect(Self.end(&fleet, "worker-2").actions == [term("coordinator"), .beginGrace(.child("coordinator"))])
        #expect(Self.end(&fleet, "coordinator").actions == [.allGone])
    }

    @Test func `a stop ends at once the children that a stop in turn has left`() {
        var fleet = Self.running()
        _ = fleet.stopInTurn()
        _ = Self.end(&fleet, "worker-1")
        #expect(fleet.stop() == [term("worker-2"), .beginGrace(.stage(.first))])
        #expect(Self.end(&fleet, "worker-2").actions == [term("coordinator"), .beginGrace(.stage(.last))])
    }

    @Test func `a child that waits for its restart is skipped by a stop in turn`() {
        var fleet = Self.running()
        _ = Self.end(&fleet, "worker-1")
        #expect(fleet.stopInTurn() == [.cancelRestart(name: "worker-1"), .beginGrace(.child("worker-1"))])
        #expect(!fleet.mayStart("worker-1"))
        #expect(fleet.ended("worker-1") == [term("worker-2"), .beginGrace(.child("worker-2"))])
    }

    @Test func `a child that outlives its grace is killed, in that stage only`() {
        var fleet = Self.running()
        _ = fleet.stop()
        _ = Self.end(&fleet, "worker-1")
        #expect(fleet.graceEnded(.stage(.first)) == [kill("worker-2")])
    }

    @Test func `a child that waits for its restart is woken by a stop and not started`() {
        var fleet = Self.running()
        #expect(Self.end(&fleet, "worker-1").next == .restart(after: .milliseconds(100)))
        let actions = fleet.stop()
        #expect(actions.contains(.cancelRestart(name: "worker-1")))
        #expect(!fleet.mayStart("worker-1"))
        #expect(fleet.ended("worker-1") == [])
    }

    @Test func `a child that starts during a stop is told to end at once`() {
        var fleet = Self.fleet()
        _ = fleet.stop()
        #expect(fleet.started("worker-1", pid: 7, now: .zero) == [term("worker-1")])
        #expect(fleet.started("coordinator", pid: 8, now: .zero) == [])
        _ = fleet.stop()
        #expect(fleet.started("worker-2", pid: 9, now: .zero) == [kill("worker-2")])
    }

    @Test func `a child that was killed for hanging restarts at once, and its death does not count`() {
        var fleet = Self.running()
        for _ in 0..<20 {
            #expect(fleet.kill("worker-1") == [kill("worker-1")])
            let end = Self.end(&fleet, "worker-1")
            #expect(end.isIntentional && end.next == .restart(after: .zero))
            #expect(fleet.kill("worker-1") == [], "it does not run")
            _ = fleet.started("worker-1", pid: 7, now: .zero)
        }
        #expect(fleet.failure == nil)
        #expect(fleet.status["worker-1"] == ChildStatus(pid: 7, restarts: 20))
        #expect(fleet.kill("unknown") == [])
    }

    @Test func `the fifth death of one child stops the others in order and names it`() {
        var fleet = Self.running()
        for _ in 0..<4 {
            _ = Self.end(&fleet, "worker-1")
            _ = fleet.started("worker-1", pid: 7, now: .zero)
        }
        let end = Self.end(&fleet, "worker-1")
        #expect(end.next == .end)
        #expect(end.actions == [term("worker-2"), .beginGrace(.stage(.first))])
        #expect(fleet.failure?.description.contains("worker-1 died 5 times") == true)
        #expect(Self.end(&fleet, "worker-2").actions == [term("coordinator"), .beginGrace(.stage(.last))])
    }
}
