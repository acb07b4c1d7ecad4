import Commands
import NIOCore
import Queue
import TestSupport
import Testing

@testable import DoorLive

struct LogPageTests {
    private func frames(
        _ start: [Int64], _ end: [Int64], _ events: [StatusEvent], _ filter: TransitionFilter = TransitionFilter()
    ) -> [ServerSentEvent] {
        let page = LogPage(TransitionPage(from: TransitionPosition(start), to: TransitionPosition(end), events))
        return ServerSentEvent.parse(page.frames(filter).map { String(buffer: $0) }.joined())
    }

    private func numbers(_ event: ServerSentEvent) throws -> [Int64] {
        try #require(try JSONValue(parsing: Array(event.data.utf8)).elements).compactMap { $0["seq"]?.integer }
    }

    @Test func `a frame has up to two hundred transitions, and its id is the position behind them`() throws {
        let events = (1...250).map { LiveRig.event(Int64($0)) } + (8...9).map { LiveRig.event($0, shard: 1) }
        let frames = frames([0, 7], [250, 9], events)
        #expect(frames.map(\.id) == ["200.7", "250.9"] && frames.allSatisfy { $0.name == "log" })
        #expect(try frames.map { try numbers($0).count } == [200, 52])
    }

    @Test func `numbers that are missing are a gap, in the order of the transitions`() throws {
        let frames = frames([3, 0], [12, 5], [4, 5, 9, 10].map { LiveRig.event($0) })
        #expect(frames.map(\.name) == ["log", "gap", "log", "gap", "gap"])
        #expect(frames.map(\.id) == ["5.0", "8.0", "10.0", "12.0", "12.5"])
        #expect(frames[1].data == #"{"shard":0,"from":6,"to":8}"#)
        #expect(frames[3].data == #"{"shard":0,"from":11,"to":12}"#)
        #expect(frames[4].data == #"{"shard":1,"from":1,"to":5}"#)
    }

    @Test func `a position beyond the store is a gap of the numbers that a restored store lacks`() {
        let frames = frames([90, 4], [70, 4], [])
        #expect(frames.map(\.data) == [#"{"shard":0,"from":71,"to":90}"#] && frames[0].id == "70.4")
    }

    @Test func `a filter leaves transitions out without a gap`() throws {
        let events = [
            LiveRig.event(1), LiveRig.event(2, status: .error), LiveRig.event(3, status: .error, type: "upload"),
            LiveRig.event(4),
        ]
        var filter = TransitionFilter()
        filter.statuses = [.error]
        filter.types = ["upload", "download"]
        let frames = frames([0], [4], events, filter)
        #expect(try frames.map { try numbers($0) } == [[3]] && frames[0].id == "4")
        filter.ids = [CommandID()]
        #expect(self.frames([0], [4], events, filter).isEmpty)
    }

    @Test func `streams with the same filter share the bytes`() throws {
        let page = LogPage(
            TransitionPage(from: TransitionPosition([0]), to: TransitionPosition([1]), [LiveRig.event(1)]))
        let (first, second) = (page.frames(TransitionFilter()), page.frames(TransitionFilter()))
        let addresses = [first, second].map { frames in
            frames.map { $0.withUnsafeReadableBytes { Int(bitPattern: $0.baseAddress) } }
        }
        #expect(addresses[0] == addresses[1])
    }
}
