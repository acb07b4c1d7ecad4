import Host
import Store
import Testing

@testable import Coordination

@Suite struct HandoverTests {
    private let sessions = [1, 2].map { Session(seat: $0, epoch: Int64(10 * $0), pid: 1, startTime: 1, bootID: "") }

    @Test func `a handover ends with the first decision on the transfers of every worker`() {
        var handover = Handover(from: sessions, now: .zero)
        #expect(!handover.isOver)
        let one = handover.decided(now: .zero + .seconds(1)) { $0 == 10 }
        #expect(!one && !handover.isOver)
        let both = handover.decided(now: .zero + .seconds(2)) { $0 == 20 }
        #expect(both && handover.isOver, "the report of the first worker was counted before")
        let again = handover.decided(now: .zero + .seconds(3)) { _ in true }
        #expect(!again)
    }

    @Test func `a handover ends without the report of a dead worker`() {
        var handover = Handover(from: sessions, now: .zero)
        let early = handover.decided(now: .zero + Handover.timeout - .milliseconds(1)) { $0 == 10 }
        let late = handover.decided(now: .zero + Handover.timeout) { _ in false }
        #expect(!early && late)
    }

    @Test func `a coordinator without running workers takes nothing over`() {
        #expect(Handover(from: [], now: .zero).isOver)
    }
}
