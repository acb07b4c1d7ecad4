import Commands
import Foundation
import Store
import TestSupport
import Testing

@Suite struct BegunBoardTests {
    @Test func `what has begun and not ended can be read`() throws {
        let place = try TemporaryDirectory("board")
        defer { place.remove() }
        let board = try #require(StartedExecutions(directory: place.path, seat: 3, epoch: 77, places: 8))
        let ids = (0..<3).map { _ in CommandID() }
        let places = try ids.map { try #require(board.begin($0)) }
        board.clear(places[1])
        board.end(places[2])
        #expect(
            StartedExecutions.read(directory: place.path, seat: 3, epoch: 77)
                == StartedExecutions.Reading(executing: [ids[0]], ended: [ids[2]]))
        #expect(StartedExecutions.read(directory: place.path, seat: 3, epoch: 78) == nil)
        StartedExecutions.remove(directory: place.path, seat: 3, epoch: 77)
        #expect(StartedExecutions.read(directory: place.path, seat: 3, epoch: 77) == nil)
    }

    @Test func `a full board says so`() throws {
        let place = try TemporaryDirectory("board")
        defer { place.remove() }
        let board = try #require(StartedExecutions(directory: place.path, seat: 0, epoch: 1, places: 2))
        let first = try #require(board.begin(CommandID()))
        #expect(board.begin(CommandID()) != nil)
        #expect(board.begin(CommandID()) == nil)
        board.clear(first)
        #expect(board.begin(CommandID()) != nil)
    }

    @Test func `boards of no session are cleared away`() throws {
        let place = try TemporaryDirectory("board")
        defer { place.remove() }
        for seat in 0..<3 { #expect(StartedExecutions(directory: place.path, seat: seat, epoch: 9, places: 2) != nil) }
        let living = Session(seat: 1, epoch: 9, pid: 1, startTime: 1, bootID: "b")
        #expect(try StartedExecutions.removeStale(directory: place.path) { [living] } == [living])
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == ["begun-1-9"])
    }

    @Test func `where no file can be made there is no board`() {
        #expect(StartedExecutions(directory: "/nonexistent", seat: 0, epoch: 1, places: 2) == nil)
    }
}
