import Commands
import Console
import Testing

@Suite struct TextTests {
    @Test(arguments: [
        ("500ms", 500), ("25s", 25_000), ("2m", 120_000), ("1h30m", 5_400_000), ("7d", 604_800_000), ("2.5", 2500),
        ("0", 0),
    ])
    func `reads durations`(_ text: String, _ milliseconds: Int64) {
        #expect(Duration.parse(text) == .milliseconds(milliseconds))
    }

    @Test(arguments: ["", "s", "-5s", "5x", "5 s", "1h5", "5s5", "1e400", "٣s", "nan", "inf", "99999999999999d"])
    func `a text that is not a duration is refused`(_ text: String) {
        #expect(Duration.parse(text) == nil)
    }

    @Test(arguments: [
        (Duration.milliseconds(0), "0.0s"), (.milliseconds(450), "0.4s"), (.seconds(59), "59s"),
        (.seconds(200), "3m 20s"), (.seconds(7500), "2h 5m"), (.seconds(86_400), "1d"),
    ])
    func `says durations in two units`(_ duration: Duration, _ text: String) {
        #expect(duration.shortText == text)
    }

    @Test(arguments: [
        ("2026-03-01T12:34:56Z", "2026-03-01T12:34:56.000Z"),
        ("2026-03-01T12:34:56.5+02:00", "2026-03-01T10:34:56.500Z"),
        ("2024-02-29T23:59:60-01:30", "2024-03-01T01:30:00.000Z"),
        ("1969-12-31t23:59:59.123456z", "1969-12-31T23:59:59.123Z"),
    ])
    func `reads RFC 3339`(_ text: String, _ expected: String) {
        #expect(Timestamp(rfc3339: text)?.description == expected)
    }

    @Test(arguments: [
        "", "2026-03-01", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-03-01T24:00:00Z", "2026-03-01T12:34:56",
        "2026-03-01T12:34:56+2:00", "2026-03-01T12:34:56.Z", "2026-03-01T12:34:56Zjunk", "2026-03-0xT12:34:56Z",
        "２026-03-01T12:34:56Z",
    ])
    func `a text that is not a time is refused`(_ text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test func `a printed time is read back`() {
        for milliseconds in stride(
            from: Int64(-62_167_219_200_000), through: 253_402_300_799_999, by: 7_654_321_987_654)
        {
            let time = Timestamp(milliseconds: milliseconds)
            #expect(Timestamp(rfc3339: time.description) == time)
        }
    }

    @Test func `a time from now is read`() {
        let now = Timestamp(milliseconds: 1_000_000)
        #expect(Timestamp(text: "+10m", now: now)?.milliseconds == 1_600_000)
        #expect(Timestamp(text: "90s", now: now)?.milliseconds == 1_090_000)
        #expect(Timestamp(text: "tomorrow", now: now) == nil)
    }

    @Test(arguments: [
        (Int64(0), "0 B"), (999, "999 B"), (1000, "1.0 kB"), (65_536, "66 kB"), (999_499, "999 kB"),
        (999_500, "1.0 MB"), (3_400_000_000, "3.4 GB"), (.max, "9.2 EB"), (-1500, "-1.5 kB"),
    ])
    func `says bytes in three digits`(_ count: Int64, _ text: String) {
        #expect(Figures.bytes(count) == text)
    }

    @Test func `digits are grouped by three`() {
        #expect(Figures.grouped(0) == "0")
        #expect(Figures.grouped(1_234_567) == "1,234,567")
        #expect(Figures.grouped(-1000) == "-1,000")
        #expect(Figures.grouped(.min) == "-9,223,372,036,854,775,808")
    }

    @Test func `a decimal has the asked number of digits`() {
        #expect(Figures.decimal(1.005, digits: 1) == "1.0")
        #expect(Figures.decimal(-0.04, digits: 1) == "0.0")
        #expect(Figures.decimal(12.3456, digits: 3) == "12.346")
        #expect(Figures.decimal(.nan, digits: 1) == "-")
    }

    @Test(arguments: [
        ("plain", "plain"), ("größer 世界", "größer 世界"), ("a\u{1B}]0;b\u{7}c", "a ]0;b c"), ("a\r\n\tb", "a   b"),
        ("a\u{9B}1mb\u{2028}c\u{2029}d\u{7F}", "a 1mb c d "), ("👩‍👧", "👩‍👧"),
    ])
    func `leaves a terminal nothing to obey`(_ text: String, _ expected: String) {
        #expect(TerminalText.plain(text) == expected)
    }

    @Test func `the columns of a table are aligned`() {
        var table = Table([("A", .left), ("COUNT", .right)])
        table.add(["long name", "1"])
        table.add(["b", "1,000"])
        #expect(table.lines == ["A          COUNT", "long name      1", "b          1,000"])
    }
}
