import Commands
import TestSupport
import Testing

@testable import Transfers

@Suite struct HTTPDateTests {
    private static let time = Timestamp(milliseconds: 784_111_777_000)

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun Nov 06 08:49:37 1994", "SUN, 06 NOV 1994 08:49:37 gmt", "sun nov  6 08:49:37 1994",
        "Mon, 06 Nov 1994 08:49:37 GMT",
    ])
    func `each form is read, in any case and with any weekday`(_ text: String) {
        #expect(HTTPDate.timestamp(text) == Self.time)
    }

    @Test(arguments: [
        "", "0", "-1", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nix 1994 08:49:37 GMT", "Sun, 06 Nov 0094 08:49:37 GMT", "Sun, 29 Feb 2100 08:49:37 GMT",
        "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov  6 1994",
        "Sun, ０6 Nov 1994 08:49:37 GMT",
    ])
    func `a text that is almost a date is none`(_ text: String) { #expect(HTTPDate.timestamp(text) == nil) }

    @Test func `a leap second and a leap day are dates`() {
        #expect(
            HTTPDate.timestamp("Sat, 31 Dec 2016 23:59:60 GMT") == HTTPDate.timestamp("Sun, 01 Jan 2017 00:00:00 GMT"))
        #expect(HTTPDate.timestamp("Thu, 29 Feb 2024 00:00:00 GMT") != nil)
        #expect(HTTPDate.timestamp("Wed, 31 Dec 1969 23:59:59 GMT") == Timestamp(milliseconds: -1000))
    }

    @Test func `every date is read back from its three forms`() {
        var random = SeededRandom.announced("dates")
        for _ in RandomRounds("dates", 500...5000) {
            // 1970 to 2069, the years of the form with two digits.
            let time = Timestamp(milliseconds: Int64.random(in: 0..<3_155_760_000, using: &random) * 1000)
            for text in [HTTPDateText.fixed(time), HTTPDateText.obsolete(time), HTTPDateText.asctime(time)] {
                #expect(HTTPDate.timestamp(text) == time, "\(text)")
            }
        }
    }
}
