import Commands
import Console
import NetworkControl
import Testing

@Suite struct LinkTextTests {
    private static func counted(_ rule: LinkReason.Rule, _ measured: Double, usual: Double, share: Double) -> LinkReason
    {
        var reason = LinkReason(rule, measured: measured, usual: usual)
        reason.share = share
        return reason
    }

    @Test(arguments: [
        (LinkReason(.unmeasured), "nothing measured yet"),
        (
            .goodput(measured: 1_250_000, threshold: 6_250_000, usual: 12_500_000),
            "goodput 10.0 Mbit/s is below 50.0 Mbit/s, where 100 Mbit/s was usual"
        ),
        (.goodput(measured: 20_000, threshold: 32_000, usual: nil), "goodput 160 kbit/s is below 256 kbit/s"),
        (
            .goodput(measured: 1_250_000, threshold: 250_000, usual: 9),
            "goodput 10.0 Mbit/s, at least 2.0 Mbit/s is good"
        ),
        (.stalled(count: 2, of: 3, threshold: 0.5), "2 of 3 transfers make no progress, 50 % are too many"),
        (.errors(share: 0.25, threshold: 0.2), "25 % of transfers failed for the link, 20 % are allowed"),
        (
            .roundTrip(measured: .seconds(2), threshold: .milliseconds(672)),
            "a round trip takes 2.0 s, more than 672 ms"
        ),
        (
            .queue(measured: .milliseconds(500), threshold: .milliseconds(400)),
            "bytes stand 500 ms in queues, more than 400 ms, and goodput fell"
        ),
        (
            .slowServer(timeToFirstByte: .seconds(3), srtt: .milliseconds(50)),
            "the server takes 3.0 s to its first byte; the round trip of 50 ms is fine"
        ),
        (.receiver(count: 1), "the receiver pauses 1 transfer: its TCP window is closed"),
        (.receiver(count: 2), "the receiver pauses 2 transfers: their TCP windows are closed"),
        (.receiver(count: 1, of: 4), "the receiver pauses 1 of 4 transfers: their TCP windows are closed"),
        (LinkReason(.unloaded, measured: 25_000), "200 kbit/s, and there is room for more"),
        (
            LinkReason(.fixed),
            "as many at a time as the settings allow; the speed is not judged, because no network lies between, or the "
                + "settings say so"
        ),
        (LinkReason(.override), "set offline by a person"),
        (.failures("connection refused", count: 3), "connection refused (3 commands, with no answer between)"),
        (.failures("timed out"), "timed out"),
        (.silence(.seconds(8)), "no byte was acknowledged for 8.0 s with transfers in flight"),
        (LinkReason(.noDefaultRoute), "there is no default route"),
        (.route(.noRoute, "192.0.2.1"), "there is no route to 192.0.2.1"),
        (.route(.blockedRoute, "192.0.2.1", kind: "blackhole"), "a route of kind blackhole covers 192.0.2.1"),
        (.route(.interfaceDown, "eth0"), "the interface eth0 is down"),
        (
            LinkReason(.demand, measured: 125_000, usual: 250_000),
            "transfers carry fewer bytes each (1.0 Mbit/s, and 2.0 Mbit/s before)"
        ),
        (
            counted(.loss, 125_000, usual: 250_000, share: 0.05),
            "5 % of the bytes are sent again (1.0 Mbit/s, and 2.0 Mbit/s before)"
        ),
        (.recorded("a sentence of version 0.1.0"), "a sentence of version 0.1.0"),
    ])
    func `a reason is a clause with the measure and the threshold`(_ reason: LinkReason, _ text: String) {
        #expect(LinkText.clause(reason) == text)
        var above = reason
        above.uplink = "*wlan0"
        #expect(LinkText.clause(above) == "the uplink *wlan0: \(text)")
    }

    @Test func `every rule has words, also without values and with values that cannot be`() {
        for rule in LinkReason.Rule.allCases {
            for value in [nil, Double.nan, .infinity, -1e300, 1e300] {
                let reason = LinkReason(rule, measured: value, threshold: value, usual: value)
                #expect(!LinkText.clause(reason).isEmpty, "\(rule)")
                let remedy = LinkRemedy(rule, threshold: value, for: .seconds(1))
                #expect(!LinkText.clause(remedy, of: "a").isEmpty, "\(rule)")
            }
        }
    }

    @Test(arguments: [
        (LinkRemedy(.goodput, threshold: 8_125_000, for: .seconds(3)), "65.0 Mbit/s for 3.0 s"),
        (LinkRemedy(.stalled, threshold: 0.5, for: .seconds(3)), "progress of all but less than 50 % for 3.0 s"),
        (LinkRemedy(.errors, threshold: 0.1538, for: .seconds(3)), "fewer than 15 % of failures for 3.0 s"),
        (LinkRemedy(.roundTrip, threshold: 0.517, for: .seconds(3)), "less than 517 ms for 3.0 s"),
        (LinkRemedy(.slowServer, for: .seconds(3)), "better measurements for 3.0 s"),
        (LinkRemedy(.probe), "a probe that succeeds"),
        (LinkRemedy(.override), "sluice network set http://a:80 --level auto"),
        (LinkRemedy(.contended, for: .seconds(1)), "no high quality of service for 1.0 s"),
        (LinkRemedy(.hours, threshold: 1320), "22:00, local time"),
    ])
    func `a remedy says what lifts the level`(_ remedy: LinkRemedy, _ text: String) {
        #expect(LinkText.clause(remedy, of: "http://a:80") == text)
    }

    @Test(arguments: [
        (
            LinkReason.goodput(measured: 20_000, threshold: 32_000, usual: nil), PolicyVerb.preempt,
            "http://a:80 is poor: goodput 160 kbit/s is below 256 kbit/s; utility commands wait there (the policy is “preempt”)"
        ),
        (
            LinkReason(.contended, measured: 2_500_000, threshold: 2_000_000, usual: 2_500_000),
            .throttle(percent: 10),
            "http://a:80 is poor and full (20.0 Mbit/s of 20.0 Mbit/s; four fifths are full), and high quality of "
                + "service has it; utility commands are slowed down there (the policy is “throttle 10%”)"
        ),
        (LinkReason(.circuitBreaker), .pause, "the circuit breaker of http://a:80 is open"),
        (
            LinkReason(.hours, measured: 754, threshold: 1320, usual: 360), .pause,
            "http://a:80 takes background from 22:00 to 06:00 only, and it is 12:34"
        ),
    ])
    func `a wait names the link, its level and the rule of the policy`(
        _ reason: LinkReason, _ verb: PolicyVerb, _ text: String
    ) {
        let wait = LinkWaitReason<Timestamp>(link: "http://a:80", level: .poor, verb: verb, reason: reason)
        #expect(LinkText.clause(wait, of: .utility) == text)
    }
}
