import Commands
import Testing

struct StartRateTests {
    @Test(arguments: [
        ("100/min", 100, StartRate.Period.minute), ("30/s", 30, .second), ("5/h", 5, .hour), ("1000/day", 1000, .day),
        ("1000000/day", 1_000_000, .day),
    ])
    func `a rate reads the form that it prints`(_ text: String, _ count: Int, _ period: StartRate.Period) throws {
        let rate = try #require(StartRate(text: text))
        #expect(rate.count == count && rate.period == period)
        #expect(rate.description == text)
    }

    @Test(arguments: [("7/second", "7/s"), ("7/m", "7/min"), ("7/hour", "7/h"), ("007/d", "7/day")])
    func `a rate reads other names of the units`(_ text: String, _ printed: String) {
        #expect(StartRate(text: text)?.description == printed)
    }

    @Test(arguments: [
        "", "/", "/s", "5", "5/", "0/s", "-1/s", "+1/s", "1.5/s", "1000001/s", "99999999999999999999/s", "5/w", "5/s/s",
        " 5/s", "5 /s", "5/S", "٥/s",
    ])
    func `another text is not a rate`(_ text: String) { #expect(StartRate(text: text) == nil) }

    @Test(arguments: [
        ("30/s", 30), ("100/min", 10), ("6000/min", 600), ("5/h", 1), ("1000/day", 100), ("1000000/s", 10_000),
        ("9/min", 1),
    ])
    func `the default burst is a tenth of the count, and at least the starts of a second`(_ text: String, _ burst: Int)
    {
        #expect(StartRate(text: text)?.defaultBurst == burst)
    }
}
