import Commands
import Foundation
import Store
import TestSupport
import Testing

@Suite struct BegunBoardTests {
    @Test func `what has begun and not ended can be read`() throws {
        let slot = try TemporaryDirectory("board")
        defer { slot.remove() }
        let board = try #require(StartedExecutions(in: RunDirectory(path: slot.path), seat: 3, epoch: 77, capacity: 8))
        let ids = (0..<3).map { _ in CommandID() }
        let slots = try ids.map { try #require(board.begin($0)) }
        board.clear(slots[1])
        board.end(slots[2])
        #expect(
            StartedExecutions.read(in: RunDirectory(path: slot.path), seat: 3, epoch: 77)
                == StartedExecutions.Reading(executing: [ids[0]], ended: [ids[2]]))
        #expect(StartedExecutions.read(in: RunDirectory(path: slot.path), seat: 3, epoch: 78) == nil)
        StartedExecutions.remove(in: RunDirectory(path: slot.path), seat: 3, epoch: 77)
        #expect(StartedExecutions.read(in: RunDirectory(path: slot.path), seat: 3, epoch: 77) == nil)
    }

    @Test func `a full board says so`() throws {
        let slot = try TemporaryDirectory("board")
        defer { slot.remove() }
        let board = try #require(StartedExecutions(in: RunDirectory(path: slot.path), seat: 0, epoch: 1, capacity: 2))
        let first = try #require(board.begin(CommandID()))
        #expect(board.begin(CommandID()) != nil)
        #expect(board.begin(CommandID()) == nil)
        board.clear(first)
        #expect(board.begin(CommandID()) != nil)
    }

    @Test func `boards of no session are cleared away`() throws {
        let slot = try TemporaryDirectory("board")
        defer { slot.remove() }
        for seat in 0..<3 {
            #expect(StartedExecutions(in: RunDirectory(path: slot.path), seat: seat, epoch: 9, capacity: 2) != nil)
        }
        let living = Session(seat: 1, epoch: 9, pid: 1, startTime: 1, bootID: "b")
        #expect(try StartedExecutions.removeStale(in: RunDirectory(path: slot.path)) { [living] } == [living])
        #expect(try FileManager.default.contentsOfDirectory(atPath: slot.path) == ["begun-1-9"])
    }

    @Test func `where no file can be made there is no board`() {
        #expect(StartedExecutions(in: RunDirectory(path: "/nonexistent"), seat: 0, epoch: 1, capacity: 2) == nil)
    }
}
