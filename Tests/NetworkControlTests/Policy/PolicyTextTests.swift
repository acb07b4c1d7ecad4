import NetworkControl
import Testing

@Suite struct PolicyTextTests {
    @Test(arguments: [
        ("0", 0), ("1234", 1234), ("2Mbit", 250_000), ("2mbit", 250_000), ("256 kbit/s", 32_000), ("250kB", 250_000),
        ("1.5MB/s", 1_500_000), ("1Gbit", 125_000_000), ("8bit", 1), ("7B", 7), ("1000GB", 1_000_000_000_000),
    ])
    func `a rate is read with its unit`(_ text: String, _ bytes: Int64) {
        #expect(RateText.bytesPerSecond(text) == bytes)
    }

    @Test(arguments: [
        "", "fast", "-1", "2kb", "2mb", "2Mb", "1.2.3", "1e3", "kB", "2 Mbit per second", "1001GB", "٣", "nan",
        "2MB//s",
    ])
    func `a text that is not a rate is refused, and so is kb`(_ text: String) {
        #expect(RateText.bytesPerSecond(text) == nil)
    }

    @Test func `a verb is read as it is written`() {
        for verb in [PolicyVerb.run, .pause, .preempt, .cancel, .throttle(percent: 25)] {
            #expect(PolicyVerb(text: verb.name) == verb)
        }
        for text in ["", "Run", "throttle", "throttle 25", "throttle x%", "throttle 25 %", "pause now", "run 5%"] {
            #expect(PolicyVerb(text: text) == nil)
        }
    }

    @Test func `hours of the day are read as from and to`() {
        #expect(AllowedHours(text: "22:00-06:00") == AllowedHours(from: 1320, to: 360))
        #expect(AllowedHours(text: "00:00-24:00") == AllowedHours(from: 0, to: 1440))
        #expect(AllowedHours(text: "22:00-00:00") == AllowedHours(from: 1320, to: 1440))
        for text in [
            "", "-", "22:00", "22-06", "24:00-06:00", "22:60-06:00", "22:00-24:01", "22:00–06:00", "a2:00-06:00",
        ] {
            #expect(AllowedHours(text: text) == nil, "\(text)")
        }
    }
}
