#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A point of wall-clock time in Unix milliseconds. It prints as RFC 3339 in UTC with milliseconds.
public struct Timestamp: Hashable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z without leap seconds; negative before that.
    public var milliseconds: Int64

    /// Makes a time from Unix milliseconds.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The wall clock (`CLOCK_REALTIME`) in whole milliseconds. It may jump when the clock is set.
    public static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// 1970-01-01T00:00:00Z: the `notBefore` of a command that may run at once.
    public static let zero = Timestamp(milliseconds: 0)

    /// The time that is later by `duration`, or earlier by a negative one. A part below a millisecond is
    /// dropped, and the sum is clamped to the range of `Int64`.
    public static func + (time: Timestamp, duration: Duration) -> Timestamp {
        let (sum, overflow) = time.milliseconds.addingReportingOverflow(duration.milliseconds)
        return Timestamp(milliseconds: overflow ? (duration > .zero ? .max : .min) : sum)
    }

    /// The time from `right` to `left`; negative where `left` is earlier. It is clamped to the range of
    /// `Int64` milliseconds.
    public static func - (left: Timestamp, right: Timestamp) -> Duration {
        let (difference, overflow) = left.milliseconds.subtractingReportingOverflow(right.milliseconds)
        return .milliseconds(overflow ? (left > right ? .max : .min) : difference)
    }
}

extension Timestamp: Comparable {
    /// Earlier is less.
    public static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }
}

extension Timestamp: CustomStringConvertible {
    /// The time in RFC 3339, 24 characters: `2026-03-01T12:34:56.789Z`. Years are clamped to 0…9999. The
    /// civil date follows Howard Hinnant, “chrono-Compatible Low-Level Date Algorithms”.
    public var description: String { String(unsafeUninitializedCapacity: 24) { write(into: $0) } }

    /// Writes the 24 characters at the start of `buffer` and returns their number.
    package func write(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        // The form exists for the years 0 to 9999; other times are clamped.
        let clamped = min(max(milliseconds, -62_167_219_200_000), 253_402_300_799_999)
        let days = clamped >= 0 ? clamped / 86_400_000 : (clamped - 86_399_999) / 86_400_000
        let rest = clamped - days * 86_400_000
        let (year, month, day) = CivilDate.date(days: days)

        func put(_ value: Int64, _ digits: Int, at position: Int) {
            var value = value
            for index in stride(from: position + digits - 1, through: position, by: -1) {
                buffer[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10)
                value /= 10
            }
        }
        put(year, 4, at: 0)
        buffer[4] = UInt8(ascii: "-")
        put(month, 2, at: 5)
        buffer[7] = UInt8(ascii: "-")
        put(day, 2, at: 8)
        buffer[10] = UInt8(ascii: "T")
        put(rest / 3_600_000, 2, at: 11)
        buffer[13] = UInt8(ascii: ":")
        put(rest / 60_000 % 60, 2, at: 14)
        buffer[16] = UInt8(ascii: ":")
        put(rest / 1000 % 60, 2, at: 17)
        buffer[19] = UInt8(ascii: ".")
        put(rest % 1000, 3, at: 20)
        buffer[23] = UInt8(ascii: "Z")
        return 24
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero and clamped to `Int64`.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        let (sum, tooMuch) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return overflow || tooMuch ? (seconds > 0 ? .max : .min) : sum
    }

    /// Seconds as a floating-point number, for rates.
    package var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
