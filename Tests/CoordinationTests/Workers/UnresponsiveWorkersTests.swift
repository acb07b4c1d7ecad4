import Coordination
import Store
import Testing

@Suite struct AbsencesTests {
    private static let second: Int64 = 1_000_000_000

    private func session(_ seat: Int, epoch: Int64) -> Session {
        Session(seat: seat, epoch: epoch, pid: 1, startTime: 2, bootID: "b")
    }

    @Test func `who says nothing for long is overdue, and is news once`() {
        var absences = UnresponsiveWorkers()
        absences.found([session(1, epoch: 10), session(2, epoch: 20)])
        absences.waited(5 * Self.second)
        let early = absences.overdue(5 * Self.second)
        #expect(early.isEmpty)
        // Found again by the next sweep: the time goes on.
        absences.found([session(1, epoch: 10), session(3, epoch: 30)])
        absences.waited(Self.second)
        let overdue = absences.overdue(5 * Self.second)
        #expect(overdue.map(\.session.epoch) == [10])
        #expect(overdue.map(\.isNew) == [true])
        let again = absences.overdue(5 * Self.second)
        #expect(again.map(\.isNew) == [false])
    }

    @Test func `a seat that is settled is overdue no more`() {
        var absences = UnresponsiveWorkers()
        absences.found([session(1, epoch: 10)])
        absences.waited(6 * Self.second)
        absences.settled(seat: 1)
        let overdue = absences.overdue(5 * Self.second)
        #expect(overdue.isEmpty)
    }
}
