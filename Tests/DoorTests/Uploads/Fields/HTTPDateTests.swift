import Commands
import Testing

@testable import Door

struct HTTPDateTests {
    @Test(
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (1_767_225_600_999, "Thu, 01 Jan 2026 00:00:00 GMT"),
            (1_709_210_096_000, "Thu, 29 Feb 2024 12:34:56 GMT"), (-1, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] as [(Int64, String)])
    func `a time is written as HTTP dates are`(milliseconds: Int64, text: String) {
        #expect(HTTPDate.text(Timestamp(milliseconds: milliseconds)) == text)
    }
}
