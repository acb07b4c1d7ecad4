import Commands
import HTTPClient
import Testing

@Suite struct RetryAfterTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT
    private let moment = Timestamp(milliseconds: 784_111_777_000)

    @Test(arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])
    func `the three forms of a date are read`(_ text: String) {
        #expect(RetryAfter.duration(text, now: moment + .seconds(-90)) == .seconds(90))
        #expect(RetryAfter.duration(text, now: moment + .seconds(5)) == .zero)
    }

    @Test func `dates at the limits of the calendar are read`() {
        #expect(RetryAfter.date("Thu, 01 Jan 1970 00:00:00 GMT") == Timestamp(milliseconds: 0))
        #expect(RetryAfter.date("Thu, 29 Feb 2024 23:59:59 GMT") == Timestamp(milliseconds: 1_709_251_199_000))
        #expect(RetryAfter.date("Fri, 31 Dec 9999 23:59:59 GMT") == Timestamp(milliseconds: 253_402_300_799_000))
    }

    @Test func `a delay in seconds is read and limited to a day`() {
        #expect(RetryAfter.duration("0", now: moment) == .zero)
        #expect(RetryAfter.duration(" 120 ", now: moment) == .seconds(120))
        #expect(RetryAfter.duration("9999999", now: moment) == .seconds(86_400))
        #expect(RetryAfter.duration("99999999999999999999999", now: moment) == .seconds(86_400))
        #expect(RetryAfter.duration("Fri, 31 Dec 9999 23:59:59 GMT", now: moment) == .seconds(86_400))
    }

    @Test(arguments: [
        "", "soon", "-5", "1.5", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT", "1 2 3 4 5",
    ])
    func `an invalid Retry-After is ignored`(_ text: String) {
        #expect(RetryAfter.duration(text, now: moment) == nil)
    }
}
