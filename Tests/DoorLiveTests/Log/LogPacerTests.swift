import Commands
import Host
import Testing

@testable import DoorLive

struct LogPacerTests {
    @Test func `logs read fewer transitions while the store is busy`() {
        let pacer = LogPacer()
        #expect(pacer.budget(of: .milliseconds(50)) == 2000)
        pacer.committed(rate: 19_000)
        #expect(pacer.budget(of: .milliseconds(50)) == 2000)
        pacer.committed(rate: 60_000)
        #expect(pacer.budget(of: .milliseconds(50)) == 250)
        pacer.committed(rate: 100)
        #expect(pacer.budget(of: .milliseconds(50)) == 2000)
    }

    @Test func `a reader that catches up waits until its transitions are due`() {
        let pacer = LogPacer()
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        // 100 ms ahead of the rate are free.
        #expect(pacer.read(4000, at: start) == .zero)
        #expect(pacer.read(4000, at: start) == .milliseconds(100))
        pacer.committed(rate: 60_000)
        #expect(pacer.read(1000, at: start) == .milliseconds(300))
        // The time that passes pays for it.
        #expect(pacer.read(1000, at: start + .seconds(10)) == .milliseconds(100))
    }
}
