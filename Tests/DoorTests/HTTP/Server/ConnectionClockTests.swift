import Host
import Testing

@testable import Door

struct ConnectionClockTests {
    private func time(_ seconds: Double) -> MonotonicTime { .zero + .seconds(seconds) }

    private func clock() -> ConnectionClock {
        ConnectionClock(header: .seconds(10), keepAlive: .seconds(75), write: .seconds(30), now: time(0))
    }

    @Test func `a client that sends nothing is silent, one that sends a byte now and then is slow`() {
        var clock = clock()
        #expect(clock.deadline == time(10))
        #expect(clock.expiry(at: time(9.9)) == nil)
        #expect(clock.expiry(at: time(10)) == .silent)
        clock.bytesArrived(at: time(5))
        clock.bytesArrived(at: time(9))
        #expect(clock.expiry(at: time(10)) == .slowHeader)
    }

    @Test func `a request that is answered has no deadline, its successor does`() {
        var clock = clock()
        clock.bytesArrived(at: time(1))
        clock.headRead()
        #expect(clock.deadline == nil)
        clock.messageRead()
        clock.responseWritten(at: time(100))
        #expect(clock.deadline == time(175))
        #expect(clock.expiry(at: time(175)) == .idle)
        clock.bytesArrived(at: time(120))
        #expect(clock.deadline == time(130))
    }

    @Test func `half a header that came during a response is not idle`() {
        var clock = clock()
        clock.headRead()
        clock.messageRead()
        clock.bytesArrived(at: time(1))
        clock.responseWritten(at: time(5))
        #expect(clock.expiry(at: time(15)) == .slowHeader)
    }

    @Test func `pipelined requests are answered before the connection is idle`() {
        var clock = clock()
        clock.headRead()
        clock.messageRead()
        clock.headRead()
        clock.messageRead()
        clock.responseWritten(at: time(1))
        #expect(clock.deadline == nil)
        clock.responseWritten(at: time(2))
        #expect(clock.deadline == time(77))
    }

    @Test func `each write that ends renews the deadline of the others`() {
        var clock = clock()
        clock.headRead()
        clock.writeBegan(at: time(1))
        clock.writeBegan(at: time(2))
        #expect(clock.expiry(at: time(31)) == .slowReader)
        clock.writeEnded(at: time(20))
        #expect(clock.deadline == time(50))
        clock.writeEnded(at: time(49))
        #expect(clock.deadline == nil)
    }
}
