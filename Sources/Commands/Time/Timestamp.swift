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

extension Timestamp {
    /// Reads `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`.
    package init?(rfc3339 text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 40 else { return nil }
        func number(_ start: Int, _ count: Int) -> Int64? {
            var value: Int64 = 0
            for byte in bytes[start..<start + count] {
                guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            }
            return value
        }
        func isByte(_ position: Int, _ characters: StaticString) -> Bool {
            characters.withUTF8Buffer { $0.contains(bytes[position]) }
        }
        guard isByte(4, "-"), isByte(7, "-"), isByte(10, "Tt "), isByte(13, ":"), isByte(16, ":"),
            let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2), (1...12).contains(month),
            (1...CivilDate.daysInMonth(month, of: year)).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        var position = 19
        var milliseconds: Int64 = 0
        if isByte(position, ".") {
            position += 1
            var scale: Int64 = 100
            let start = position
            while position < bytes.count, let digit = number(position, 1) {
                milliseconds += digit * scale
                scale /= 10
                position += 1
            }
            guard position > start else { return nil }
        }
        guard position < bytes.count else { return nil }
        var offset: Int64 = 0
        if isByte(position, "Zz") {
            guard position + 1 == bytes.count else { return nil }
        } else {
            guard isByte(position, "+-"), bytes.count == position + 6, isByte(position + 3, ":"),
                let hours = number(position + 1, 2), let minutes = number(position + 4, 2), hours < 24, minutes < 60
            else { return nil }
            offset = (isByte(position, "-") ? -1 : 1) * (hours * 60 + minutes)
        }
        let seconds =
            CivilDate.days(year: year, month: month, day: day) * 86_400 + hour * 3600 + (minute - offset) * 60 + second
        self.init(milliseconds: seconds * 1000 + milliseconds)
    }
}

/// Days of the Gregorian calendar as numbers. After Howard Hinnant, “chrono-Compatible Low-Level Date Algorithms”.
package enum CivilDate {
    /// Days from 1970-01-01 to a date. A day beyond the end of its month counts on into the next month.
    /// - Parameters:
    ///   - month: 1…12
    ///   - day: from 1
    package static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The date of a number of days from 1970-01-01.
    package static func date(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        )
    }

    /// - Parameter month: 1…12
    package static func daysInMonth(_ month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
