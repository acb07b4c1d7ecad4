import Commands
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

struct TimestampTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"), (1_772_368_496_789, "2026-03-01T12:34:56.789Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (-2_203_891_200_000, "1900-03-01T00:00:00.000Z"),
        (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (Int64.min, "0000-01-01T00:00:00.000Z"), (Int64.max, "9999-12-31T23:59:59.999Z"),
    ])
    func `a time prints as RFC 3339 in UTC with milliseconds`(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
    }

    @Test func `ten thousand random times print as in the C library`() {
        var random = SeededRandom.announced("Timestamp")
        for _ in RandomRounds("Timestamp", 1000...10_000) {
            let milliseconds = Int64.random(in: -62_167_219_200_000...253_402_300_799_999, using: &random)
            var seconds = time_t((milliseconds - (milliseconds % 1000 + 1000) % 1000) / 1000)
            var fields = tm()
            gmtime_r(&seconds, &fields)
            func padded(_ value: Int, _ width: Int) -> String {
                let digits = String(value)
                return String(repeating: "0", count: width - digits.count) + digits
            }
            let date =
                "\(padded(Int(fields.tm_year) + 1900, 4))-\(padded(Int(fields.tm_mon) + 1, 2))-"
                + "\(padded(Int(fields.tm_mday), 2))T\(padded(Int(fields.tm_hour), 2)):\(padded(Int(fields.tm_min), 2)):"
                + "\(padded(Int(fields.tm_sec), 2)).\(padded(Int((milliseconds % 1000 + 1000) % 1000), 3))Z"
            #expect(Timestamp(milliseconds: milliseconds).description == date)
        }
    }

    @Test func `times sort as texts as they do as numbers`() {
        let times = [-62_167_219_200_000, -1, 0, 999, 1000, 1_772_368_496_789].map { Timestamp(milliseconds: $0) }
        #expect(times.map(\.description) == times.map(\.description).sorted())
        #expect(times == times.sorted())
    }

    @Test func `a sum of time and duration is clamped`() {
        #expect(Timestamp(milliseconds: 1000) + .seconds(2) == Timestamp(milliseconds: 3000))
        #expect(Timestamp(milliseconds: 1000) + .seconds(-2) == Timestamp(milliseconds: -1000))
        #expect(Timestamp(milliseconds: .max) + .seconds(1) == Timestamp(milliseconds: .max))
        #expect(Timestamp(milliseconds: .min) + .seconds(-1) == Timestamp(milliseconds: .min))
        #expect(Timestamp(milliseconds: 5) - Timestamp(milliseconds: 2) == .milliseconds(3))
    }

    @Test func `any two times are subtracted without a trap`() {
        let (first, last) = (Timestamp(milliseconds: .min), Timestamp(milliseconds: .max))
        #expect(last - first > .zero)
        #expect(first - last < .zero)
    }

    @Test func `milliseconds of a duration are whole and clamped to 64 bits`() {
        #expect(Duration.nanoseconds(1_999_999).milliseconds == 1)
        #expect(Duration.nanoseconds(-1_999_999).milliseconds == -1)
        #expect(Duration.seconds(Int64.max).milliseconds == .max)
        #expect(Duration.seconds(Int64.min).milliseconds == .min)
        #expect(
            Duration(secondsComponent: .max / 1000, attosecondsComponent: 999_000_000_000_000_000).milliseconds == .max)
        #expect(Duration.milliseconds(1500).seconds == 1.5)
    }
}
