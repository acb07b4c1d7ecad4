import Commands
import Host
import NetworkControl
import Testing

@testable import Coordination

@Suite struct LinkLogTests {
    private let key = LinkKey(Destination(scheme: "http", host: "a", port: 80), .up)

    @Test func `a link's setting is written when it changes, and after a minute while the link is active`() {
        var log = LinkLog()
        #expect(value(log.isNews("good", of: key, isActive: true, now: .zero)))
        #expect(!value(log.isNews("good", of: key, isActive: true, now: after(59))))
        #expect(value(log.isNews("poor", of: key, isActive: true, now: after(59))))
        #expect(!value(log.isNews("poor", of: key, isActive: false, now: after(119))), "nothing happens there")
        #expect(value(log.isNews("poor", of: key, isActive: true, now: after(119))))
    }

    @Test func `a setting that another coordinator left is written again only where it says something else`() {
        var log = LinkLog()
        let signature = LinkLog.signature(.offline, isForced: false, nil)
        log.known(key, signature, now: .zero)
        #expect(!value(log.isNews(signature, of: key, isActive: false, now: after(600))))
        #expect(!log.differs(signature, of: key))
        let other = LinkLog.signature(.unknown, isForced: false, nil)
        #expect(log.differs(other, of: key) && value(log.isNews(other, of: key, isActive: false, now: after(600))))
    }

    @Test func `a jump of the wall clock does not make an outage longer`() {
        var log = LinkLog()
        log.offlineSince[key] = Timestamp(milliseconds: 1000)
        log.wallClockJumped(by: .seconds(3600), to: Timestamp(milliseconds: 3_700_000))
        #expect(log.offlineSince[key] == Timestamp(milliseconds: 3_601_000))
        log.wallClockJumped(by: .seconds(-3600), to: Timestamp(milliseconds: 200_000))
        #expect(log.offlineSince[key] == Timestamp(milliseconds: 1000))
        log.wallClockJumped(by: .seconds(3600), to: Timestamp(milliseconds: 2000))
        #expect(log.offlineSince[key] == Timestamp(milliseconds: 2000), "never in the future")
    }

    @Test func `a setting that could not be written is written again five seconds later`() {
        var log = LinkLog()
        #expect(value(log.isNews("good", of: key, isActive: true, now: .zero)))
        log.failed("good", of: key, now: after(1))
        #expect(!log.differs("offline", of: key), "nothing stands")
        #expect(!value(log.isNews("good", of: key, isActive: true, now: after(5))))
        #expect(value(log.isNews("good", of: key, isActive: true, now: after(6))))
        // The same holds for a setting that is only refreshed.
        #expect(value(log.isNews("good", of: key, isActive: true, now: after(66))))
        log.failed("good", of: key, now: after(67))
        #expect(value(log.isNews("good", of: key, isActive: true, now: after(72))))
        // A late failure of an earlier value changes nothing.
        #expect(value(log.isNews("poor", of: key, isActive: true, now: after(73))))
        log.failed("good", of: key, now: after(74))
        #expect(!value(log.isNews("poor", of: key, isActive: true, now: after(80))))
    }
}
