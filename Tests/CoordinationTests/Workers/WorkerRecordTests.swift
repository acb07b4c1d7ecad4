import Commands
import Testing
import Wire

@testable import Coordination

@Suite struct SeatRecordTests {
    private static let second: Int64 = 1_000_000_000

    private func record(concurrency: Int = 16) -> WorkerRecord {
        WorkerRecord(
            seat: 0, epoch: 1,
            hello: Hello(
                pid: 1, startTime: 1, bootID: "b", concurrency: concurrency, grace: .seconds(1), types: [],
                executing: []))
    }

    private func state(seen: Int64, resolved: Int64, completed: Int64 = 0, progress: Int64 = 0) -> WorkerState {
        var state = WorkerState()
        state.coordinator = 9
        state.seen = seen
        state.resolved = resolved
        state.completed = completed
        state.progress = progress
        return state
    }

    @Test func `the window is 50 ms of completions, at least the concurrency, at most 2,048`() {
        var record = record()
        #expect(record.window == 16)
        record.report(state(seen: 0, resolved: 0), coordinator: 9, now: 0)
        record.report(state(seen: 0, resolved: 0, completed: 10_000), coordinator: 9, now: Self.second)
        #expect(record.window == 500)
        record.report(state(seen: 0, resolved: 0, completed: 200_000), coordinator: 9, now: 2 * Self.second)
        #expect(record.window == 2048)
    }

    @Test func `counts what was sent until the worker resolves it`() {
        var record = record()
        #expect(record.offered(10, now: 0) == 1)
        #expect(record.unfinished(now: 1) == 10)
        record.report(state(seen: 10, resolved: 4), coordinator: 9, now: 1)
        #expect(record.unfinished(now: 1) == 6)
        #expect(record.room(.middle, now: 1) == 10)
        #expect(record.room(.high, now: 1) == 26)
        #expect(record.offered(1, now: 1) == 11)
    }

    @Test func `offers that were never seen are lost after two seconds`() {
        var record = record()
        _ = record.offered(10, now: 0)
        record.report(state(seen: 3, resolved: 3), coordinator: 9, now: 1)
        #expect(record.unfinished(now: Self.second) == 7)
        #expect(record.unfinished(now: 3 * Self.second) == 0)
    }

    @Test func `counts of another coordinator's offers are not taken`() {
        var record = record()
        _ = record.offered(5, now: 0)
        record.report(state(seen: 500, resolved: 500), coordinator: 10, now: 1)
        #expect(record.unfinished(now: 1) == 5)
    }

    @Test func `a draining worker has no room`() {
        var record = record()
        var state = state(seen: 0, resolved: 0)
        state.phase = .draining
        record.report(state, coordinator: 9, now: 0)
        #expect(record.room(.high, now: 0) == 0)
    }

    @Test func `stands still only while its loop does not move`() {
        var record = record()
        record.report(state(seen: 0, resolved: 0, progress: 1), coordinator: 9, now: 0)
        record.waited(4 * Self.second)
        record.report(state(seen: 0, resolved: 0, progress: 1), coordinator: 9, now: 0)
        record.waited(2 * Self.second)
        #expect(record.stillFor == 6 * Self.second)
        record.report(state(seen: 0, resolved: 0, progress: 2), coordinator: 9, now: 0)
        #expect(record.stillFor == 0)
    }
}
