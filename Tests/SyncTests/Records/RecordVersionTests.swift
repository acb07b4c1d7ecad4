import Commands
import Testing

@testable import Sync

@Suite struct RecordVersionTests {
    private func version(_ text: String?) throws(RecordVersion.Unordered) -> RecordVersion? {
        try RecordVersion.read(text.map { Array($0.utf8)[...] })
    }

    @Test func `numbers are ordered by their value, of any size`() throws {
        let ascending = [
            "-1e400", "-18446744073709551617", "-18446744073709551616", "-2.5", "-2", "-1e-400", "0", "1e-500",
            "1e-400", "0.1", "0.25",
            "1", "1.5", "9", "10", "9007199254740992", "9007199254740993", "1e20", "100000000000000000001", "1e400",
            "2e400", "1e401",
        ]
        let numbers = try ascending.map { try #require(DecimalText($0.utf8)) }
        for (left, first) in numbers.enumerated() {
            for (right, second) in numbers.enumerated() {
                #expect((first < second) == (left < right), "\(ascending[left]) \(ascending[right])")
            }
        }
    }

    @Test func `numbers of equal value are equal whatever their text`() {
        for (left, right) in [
            ("1", "1.0"), ("100", "1e2"), ("0", "-0"), ("0.0", "0e7"), ("1.50", "15E-1"), ("-1200", "-1.2e+3"),
            ("0.001", "1e-3"),
        ] {
            #expect(DecimalText(left.utf8) == DecimalText(right.utf8), "\(left) \(right)")
        }
        #expect(DecimalText("".utf8) == nil && DecimalText("x".utf8) == nil && DecimalText("-".utf8) == nil)
    }

    @Test func `dates are ordered as instants across offsets`() throws {
        let earlier = try #require(try version("\"2026-03-01T12:00:00+02:00\""))
        let later = try #require(try version("\"2026-03-01T10:00:01Z\""))
        #expect(later.isLater(than: earlier) == true && earlier.isLater(than: later) == false)
        #expect(try version("\"2026-03-01T10:00:00Z\"") == earlier)
    }

    @Test func `a missing version and null are none`() throws {
        #expect(try version(nil) == nil)
        #expect(try version("null") == nil)
    }

    @Test(arguments: [
        "true", "{}", "[1]", "\"\"", "\"1\"", "\"yesterday\"", "\"2026-03-01\"", "\"2026-13-01T00:00:00Z\"",
        "\"Sun, 06 Nov 1994 08:49:37 GMT\"",
        String(repeating: "9", count: 65),
    ])
    func `any other value has no order`(text: String) {
        let error = #expect(throws: RecordVersion.Unordered.self) { try RecordVersion.read(Array(text.utf8)[...]) }
        #expect(error?.found.isEmpty == false)
    }

    @Test func `a number and a date cannot be compared`() throws {
        let number = try #require(try version("1"))
        let date = try #require(try version("\"2026-03-01T10:00:01Z\""))
        #expect(number.isLater(than: date) == nil && date.isLater(than: number) == nil)
    }

    @Test(arguments: ["1", "-1.50", "1e400", "\"2026-03-01T10:00:01.250Z\""])
    func `a stored version is read as it was`(text: String) throws {
        let version = try #require(try version(text))
        #expect(RecordVersion(stored: version.stored) == version)
    }
}
