import Commands
import NetworkControl
import Queue
import Testing

@Suite struct StoredLinksTests {
    @Test func `a probe whose time has passed is not shown as the next`() {
        let now = Timestamp(milliseconds: 1_000_000_000_000)
        for (age, isShown) in [(Duration.seconds(-5), true), (.seconds(600), false)] {
            let probe = (now + (.zero - age)).description
            let setting =
                #"{"level":"offline","nextProbe":"\#(probe)","circuitBreaker":{"cause":"credential","reason":"","#
                + #""since":"2026-01-01T00:00:00.000Z","nextProbe":"\#(probe)"}}"#
            var found: [LinkReport] = []
            StoredLinks(settings: ["link.up.http://a:80": setting]).visit(now: now) { found.append($0) }
            #expect(found.count == 1 && (found[0].nextProbe != nil) == isShown)
            #expect((found[0].circuitBreaker?.nextProbe != nil) == isShown)
        }
    }
}
