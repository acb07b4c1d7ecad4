import Commands
import Foundation
import Store
import TestSupport
import Testing

@Suite struct StartedExecutionsTests {
    @Test func `the log of a worker has its executing and its ended commands`() throws {
        let slot = try TemporaryDirectory("started")
        defer { slot.remove() }
        let log = try #require(StartedExecutions(in: RunDirectory(path: slot.path), seat: 3, epoch: 77, capacity: 8))
        let ids = (0..<3).map { _ in CommandID() }
        let slots = try ids.map { try #require(log.begin($0)) }
        log.clear(slots[1])
        log.end(slots[2])
        #expect(
            StartedExecutions.read(in: RunDirectory(path: slot.path), seat: 3, epoch: 77)
                == StartedExecutions.Reading(executing: [ids[0]], ended: [ids[2]]))
        #expect(StartedExecutions.read(in: RunDirectory(path: slot.path), seat: 3, epoch: 78) == nil)
        StartedExecutions.remove(in: RunDirectory(path: slot.path), seat: 3, epoch: 77)
        #expect(StartedExecutions.read(in: RunDirectory(path: slot.path), seat: 3, epoch: 77) == nil)
    }

    @Test func `a full log returns no entry`() throws {
        let slot = try TemporaryDirectory("started")
        defer { slot.remove() }
        let log = try #require(StartedExecutions(in: RunDirectory(path: slot.path), seat: 0, epoch: 1, capacity: 2))
        let first = try #require(log.begin(CommandID()))
        #expect(log.begin(CommandID()) != nil)
        #expect(log.begin(CommandID()) == nil)
        log.clear(first)
        #expect(log.begin(CommandID()) != nil)
    }

    @Test func `logs of workers without a session are deleted`() throws {
        let slot = try TemporaryDirectory("started")
        defer { slot.remove() }
        for seat in 0..<3 {
            #expect(StartedExecutions(in: RunDirectory(path: slot.path), seat: seat, epoch: 9, capacity: 2) != nil)
        }
        let living = Session(seat: 1, epoch: 9, pid: 1, startTime: 1, bootID: "b")
        #expect(try StartedExecutions.removeStale(in: RunDirectory(path: slot.path)) { [living] } == [living])
        #expect(try FileManager.default.contentsOfDirectory(atPath: slot.path) == ["begun-1-9"])
    }

    @Test func `there is no log where its file cannot be made`() {
        #expect(StartedExecutions(in: RunDirectory(path: "/nonexistent"), seat: 0, epoch: 1, capacity: 2) == nil)
    }
}
