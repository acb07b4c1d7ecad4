import Commands
import NetworkControl
import Testing

@testable import Coordination

@Suite struct LinkLogTests {
    private static let second: Int64 = 1_000_000_000
    private let key = LinkKey(Destination(scheme: "http", host: "a", port: 80), .up)

    @Test func `what a link is stands once, and again after a minute`() {
        var log = LinkLog()
        #expect(value(log.isNews("good", of: key, isActive: true, now: 0)))
        #expect(!value(log.isNews("good", of: key, isActive: true, now: 59 * Self.second)))
        #expect(value(log.isNews("poor", of: key, isActive: true, now: 59 * Self.second)))
        #expect(!value(log.isNews("poor", of: key, isActive: false, now: 119 * Self.second)), "nothing happens there")
        #expect(value(log.isNews("poor", of: key, isActive: true, now: 119 * Self.second)))
    }

    @Test func `a jump of the wall clock makes no outage longer`() {
        var log = LinkLog()
        log.offlineSince[key] = Timestamp(milliseconds: 1000)
        log.wallClockJumped(by: .seconds(3600), to: Timestamp(milliseconds: 3_700_000))
        #expect(log.offlineSince[key] == Timestamp(milliseconds: 3_601_000))
        log.wallClockJumped(by: .seconds(-3600), to: Timestamp(milliseconds: 200_000))
        #expect(log.offlineSince[key] == Timestamp(milliseconds: 1000))
        log.wallClockJumped(by: .seconds(3600), to: Timestamp(milliseconds: 2000))
        #expect(log.offlineSince[key] == Timestamp(milliseconds: 2000), "never in the future")
    }

    @Test func `what could not be written is news again five seconds later`() {
        var log = LinkLog()
        #expect(value(log.isNews("good", of: key, isActive: true, now: 0)))
        log.failed("good", of: key, now: Self.second)
        #expect(!log.differs("offline", of: key), "nothing stands")
        #expect(!value(log.isNews("good", of: key, isActive: true, now: 5 * Self.second)))
        #expect(value(log.isNews("good", of: key, isActive: true, now: 6 * Self.second)))
        // Also what stands already and is only refreshed.
        #expect(value(log.isNews("good", of: key, isActive: true, now: 66 * Self.second)))
        log.failed("good", of: key, now: 67 * Self.second)
        #expect(value(log.isNews("good", of: key, isActive: true, now: 72 * Self.second)))
        // Late word of what has been followed by something else undoes nothing.
        #expect(value(log.isNews("poor", of: key, isActive: true, now: 73 * Self.second)))
        log.failed("good", of: key, now: 74 * Self.second)
        #expect(!value(log.isNews("poor", of: key, isActive: true, now: 80 * Self.second)))
    }
}
