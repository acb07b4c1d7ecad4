package import Commands
internal import HTTPClient

/// A date that decides about freshness, in exactly one of the three forms of RFC 9110, section 5.6.7.
///
/// ``RetryAfter`` also reads dates with slips, which is right for a delay. A cache must not: `Expires` in a
/// form that is not a date means stale (RFC 9111, section 5.3). Case does not matter, and another zone than
/// GMT makes the date invalid (section 4.2).
package enum HTTPDate {
    /// Patterns: `a` is a letter, `0` a digit, `_` a space or a digit; any other byte is itself.
    private static let fixed = "aaa, 00 aaa 0000 00:00:00 GMT"
    private static let obsolete = ", 00-aaa-00 00:00:00 GMT"
    private static let asctime = "aaa aaa _0 00:00:00 0000"

    package static func timestamp(_ text: String) -> Timestamp? {
        let bytes = text.utf8
        let weekday = bytes.prefix { $0.isLetter }.count
        let day: Int64?
        if matches(bytes, fixed) {
            guard bytes.dropFirst(12).first != UInt8(ascii: "0") else { return nil }
            day = number(bytes.dropFirst(5).prefix(2))
        } else if matches(bytes, asctime) {
            guard bytes.dropFirst(20).first != UInt8(ascii: "0") else { return nil }
            day = number(bytes.dropFirst(8).prefix(2))
        } else if (6...9).contains(weekday), matches(bytes.dropFirst(weekday), obsolete) {
            day = number(bytes.dropFirst(weekday + 2).prefix(2))
        } else {
            return nil
        }
        guard let day, let date = RetryAfter.date(canonical(bytes)) else { return nil }
        // ``RetryAfter`` counts the 31st of February as the 3rd of March. A leap second ends the day before.
        return [date, date + .seconds(-1)].contains { dayOfMonth($0) == day } ? date : nil
    }

    private static func matches(_ bytes: some Collection<UInt8>, _ pattern: String) -> Bool {
        guard bytes.count == pattern.utf8.count else { return false }
        return zip(bytes, pattern.utf8).allSatisfy { byte, expected in
            switch expected {
            case UInt8(ascii: "a"): byte.isLetter
            case UInt8(ascii: "0"): byte.isDigit
            case UInt8(ascii: "_"): byte.isDigit || byte == UInt8(ascii: " ")
            case UInt8(ascii: "G"), UInt8(ascii: "M"), UInt8(ascii: "T"): byte & 0xDF == expected
            default: byte == expected
            }
        }
    }

    private static func number(_ bytes: some Collection<UInt8>) -> Int64? {
        Int64(String(decoding: bytes, as: UTF8.self).trimmed)
    }

    /// Each word begins with a capital, except GMT, which is all capitals.
    private static func canonical(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            guard byte.isLetter else {
                text.append(byte)
                continue
            }
            text.append(text.last?.isLetter == true ? byte | 0x20 : byte & 0xDF)
        }
        if text.last?.isLetter == true { text.replaceSubrange((text.count - 3)..., with: "GMT".utf8) }
        return String(decoding: text, as: UTF8.self)
    }

    private static func dayOfMonth(_ time: Timestamp) -> Int64 {
        let days = time.milliseconds / 86_400_000 - (time.milliseconds % 86_400_000 < 0 ? 1 : 0)
        return CivilDate.date(days: days).day
    }
}

extension HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    /// From the first of January 1970 on.
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

    /// `Fri, 02 Jan 2026 00:00:00 GMT`, the form that is sent. Parts of a second are left out.
    static func text(_ time: Timestamp) -> String {
        // A time before 1970 or after 9999 has no such form.
        let seconds = min(max(time.milliseconds / 1000, 0), 253_402_300_799)
        let (days, rest) = (seconds / 86_400, seconds % 86_400)
        let date = CivilDate.date(days: days)
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let clock = "\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
        return "\(weekdays[Int(days % 7)]), \(two(date.day)) \(months[Int(date.month) - 1]) \(date.year) \(clock) GMT"
    }
}
