import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

@testable import Membership

@Suite struct IntentLogTests {
    @Test func `the log of a worker has its executing and its ended commands`() throws {
        let directory = try TemporaryDirectory("started")
        defer { directory.remove() }
        let run = RunDirectory(path: directory.path)
        let log = try #require(IntentLog(in: run, seat: 3, epoch: 77, capacity: 8))
        let ids = (0..<3).map { _ in CommandID() }
        let entries = try ids.map { try #require(log.begin($0)) }
        log.clear(entries[1])
        log.end(entries[2])
        #expect(
            IntentLog.read(in: run, seat: 3, epoch: 77)
                == StartedExecutions(executing: [ids[0]], ended: [ids[2]]))
        #expect(IntentLog.read(in: run, seat: 3, epoch: 78) == nil)
        IntentLog.remove(in: run, seat: 3, epoch: 77)
        #expect(IntentLog.read(in: run, seat: 3, epoch: 77) == nil)
    }

    @Test func `a full log returns no entry`() throws {
        let directory = try TemporaryDirectory("started")
        defer { directory.remove() }
        let run = RunDirectory(path: directory.path)
        let log = try #require(IntentLog(in: run, seat: 0, epoch: 1, capacity: 2))
        let first = try #require(log.begin(CommandID()))
        #expect(log.begin(CommandID()) != nil)
        #expect(log.begin(CommandID()) == nil)
        log.clear(first)
        #expect(log.begin(CommandID()) != nil)
    }

    @Test func `logs and notes of workers without a session are deleted`() throws {
        let directory = try TemporaryDirectory("started")
        defer { directory.remove() }
        let run = RunDirectory(path: directory.path)
        for seat in 0..<3 {
            #expect(IntentLog(in: run, seat: seat, epoch: 9, capacity: 2) != nil)
        }
        let living = Session(seat: 1, epoch: 9, pid: 1, startTime: 1, bootID: "b")
        let pid = getpid()
        IntentionalKill.note(in: run, pid: pid)
        let killed = Session(
            seat: 2, epoch: 8, pid: pid, startTime: try #require(ProcessIdentity.startTime(of: pid)), bootID: "b")
        func names() throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: directory.path)) }
        func removeStaleNotes(_ sessions: [Session], isComplete: Bool) throws {
            let reading = SessionReading(sessions, isComplete: isComplete)
            #expect(try LocalPresence(run).removeStaleNotes { () throws(StoreError) in reading } == reading)
        }
        // A shard that cannot be read may have further sessions.
        try removeStaleNotes([living], isComplete: false)
        #expect(try names().count == 4)
        try removeStaleNotes([living, killed], isComplete: true)
        #expect(try names().count == 2 && IntentionalKill.isNoted(in: run, killed))
        try removeStaleNotes([living], isComplete: true)
        #expect(try names() == ["begun-1-9"])
    }

    @Test func `there is no log where its file cannot be made`() {
        #expect(IntentLog(in: RunDirectory(path: "/nonexistent"), seat: 0, epoch: 1, capacity: 2) == nil)
    }
}
