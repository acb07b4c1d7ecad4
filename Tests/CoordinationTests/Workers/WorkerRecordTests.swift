import Commands
import Host
import Testing
import Wire

@testable import Coordination

@Suite struct WorkerRecordTests {

    private func record(concurrency: Int = 16) -> WorkerRecord {
        WorkerRecord(
            seat: 0, epoch: 1,
            hello: Hello(
                pid: 1, startTime: 1, bootID: "b", concurrency: concurrency, types: [],
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
        record.report(state(seen: 0, resolved: 0), coordinator: 9, now: .zero)
        record.report(state(seen: 0, resolved: 0, completed: 10_000), coordinator: 9, now: after(1))
        #expect(record.window == 500)
        record.report(state(seen: 0, resolved: 0, completed: 200_000), coordinator: 9, now: after(2))
        #expect(record.window == 2048)
    }

    @Test func `a frozen worker gets no offer and does not hang, and has the whole time after it is thawed`() {
        var record = record()
        record.report(state(seen: 0, resolved: 0), coordinator: 9, now: .zero)
        record.advance(awake: .seconds(6))
        #expect(record.stillFor == .seconds(6) && record.room(.middle, now: .zero) > 0)
        record.setFrozen(true)
        record.advance(awake: .seconds(60))
        #expect(record.stillFor == .zero && !record.takesOffers)
        #expect(record.room(.high, now: .zero) == 0 && record.freeSlots(now: .zero) == 0 && record.extraRoom == 0)
        record.setFrozen(false)
        record.advance(awake: .seconds(4))
        #expect(record.stillFor == .seconds(4) && record.room(.middle, now: .zero) > 0)
    }

    @Test func `where a commit takes long the window is four commits of completions, at most of a second`() {
        var record = record(concurrency: 2)
        var state = state(seen: 0, resolved: 0)
        record.report(state, coordinator: 9, now: .zero)
        state.completed = 100
        record.commitTime = .milliseconds(100)
        record.report(state, coordinator: 9, now: after(1))
        #expect(record.window == 40)
        record.commitTime = .seconds(3)
        #expect(record.window == 100)
    }

    @Test func `an offer counts as unfinished until the worker resolves it`() {
        var record = record()
        #expect(record.offered(10, now: .zero) == 1)
        #expect(record.unfinished(now: after(nanoseconds: 1)) == 10)
        record.report(state(seen: 10, resolved: 4), coordinator: 9, now: after(nanoseconds: 1))
        #expect(record.unfinished(now: after(nanoseconds: 1)) == 6)
        #expect(record.room(.middle, now: after(nanoseconds: 1)) == 10)
        #expect(record.room(.high, now: after(nanoseconds: 1)) == 26)
        #expect(record.offered(1, now: after(nanoseconds: 1)) == 11)
    }

    @Test func `offers that were never seen are lost after two seconds`() {
        var record = record()
        _ = record.offered(10, now: .zero)
        record.report(state(seen: 3, resolved: 3), coordinator: 9, now: after(nanoseconds: 1))
        #expect(record.unfinished(now: after(1)) == 7)
        #expect(record.unfinished(now: after(3)) == 0)
    }

    @Test func `counts that a worker made for another coordinator do not apply`() {
        var record = record()
        _ = record.offered(5, now: .zero)
        record.report(state(seen: 500, resolved: 500), coordinator: 10, now: after(nanoseconds: 1))
        #expect(record.unfinished(now: after(nanoseconds: 1)) == 5)
    }

    @Test func `a draining worker has no room`() {
        var record = record()
        var state = state(seen: 0, resolved: 0)
        state.phase = .draining
        record.report(state, coordinator: 9, now: .zero)
        #expect(record.room(.high, now: .zero) == 0)
    }

    @Test func `a worker is still only while its loop makes no progress`() {
        var record = record()
        record.report(state(seen: 0, resolved: 0, progress: 1), coordinator: 9, now: .zero)
        record.advance(awake: .seconds(4))
        record.report(state(seen: 0, resolved: 0, progress: 1), coordinator: 9, now: .zero)
        record.advance(awake: .seconds(2))
        #expect(record.stillFor == .seconds(6))
        record.report(state(seen: 0, resolved: 0, progress: 2), coordinator: 9, now: .zero)
        #expect(record.stillFor == .zero)
    }
}
