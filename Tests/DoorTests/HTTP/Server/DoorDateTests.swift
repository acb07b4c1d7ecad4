import Door
import Testing

struct DoorDateTests {
    @Test(
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"), (-5, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] as [(Int64, String)])
    func `a date is written as RFC 9110 wants it`(_ seconds: Int64, _ text: String) {
        #expect(DoorDate.text(seconds: seconds) == text)
    }
}
