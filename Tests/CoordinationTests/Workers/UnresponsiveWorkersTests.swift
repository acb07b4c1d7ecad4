import Coordination
import Store
import Testing

@Suite struct UnresponsiveWorkersTests {
    private func session(_ seat: Int, epoch: Int64) -> Session {
        Session(seat: seat, epoch: epoch, pid: 1, startTime: 2, bootID: "b")
    }

    @Test func `a worker that stays silent is overdue, and is new once`() {
        var workers = UnresponsiveWorkers()
        workers.replace(with: [session(1, epoch: 10), session(2, epoch: 20)])
        workers.advance(awake: .seconds(5))
        let early = workers.overdue(.seconds(5))
        #expect(early.isEmpty)
        // The next sweep finds it again: its time continues.
        workers.replace(with: [session(1, epoch: 10), session(3, epoch: 30)])
        workers.advance(awake: .seconds(1))
        let overdue = workers.overdue(.seconds(5))
        #expect(overdue.map(\.session.epoch) == [10])
        #expect(overdue.map(\.isNew) == [true])
        let again = workers.overdue(.seconds(5))
        #expect(again.map(\.isNew) == [false])
    }

    @Test func `a frozen worker has the whole time again when it is excused`() {
        var workers = UnresponsiveWorkers()
        workers.replace(with: [session(1, epoch: 10)])
        workers.advance(awake: .seconds(6))
        workers.excuse(epoch: 10)
        workers.advance(awake: .seconds(4))
        let early = workers.overdue(.seconds(5))
        #expect(early.isEmpty)
        workers.advance(awake: .seconds(2))
        let late = workers.overdue(.seconds(5))
        #expect(late.map(\.session.epoch) == [10])
    }

    @Test func `a seat whose worker registered is not overdue any more`() {
        var workers = UnresponsiveWorkers()
        workers.replace(with: [session(1, epoch: 10)])
        workers.advance(awake: .seconds(6))
        workers.remove(seat: 1)
        let overdue = workers.overdue(.seconds(5))
        #expect(overdue.isEmpty)
    }
}
