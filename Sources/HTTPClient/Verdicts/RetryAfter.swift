package import Commands

/// `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date in one of three forms.
package enum RetryAfter {
    /// The maximum delay that a server can impose.
    static let maxDelay: Duration = .seconds(86_400)

    /// - Returns: how long to wait; nil for an invalid value.
    package static func duration(_ value: String, now: Timestamp) -> Duration? {
        let text = value.split(separator: " ").joined(separator: " ")
        if !text.isEmpty, text.utf8.allSatisfy(\.isDigit) {
            return Int64(text).map { .seconds(min($0, 86_400)) } ?? maxDelay
        }
        guard let date = date(text) else { return nil }
        return min(max(date - now, .zero), maxDelay)
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov 6 08:49:37 1994`
    /// (section 5.6.7).
    package static func date(_ text: String) -> Timestamp? {
        let words = text.split { $0 == " " || $0 == "," || $0 == "-" }.map(String.init)
        guard words.count >= 5 else { return nil }
        if words.count == 5 {
            return timestamp(day: words[2], month: words[1], year: words[4], time: words[3])
        }
        guard words.count == 6, words[5] == "GMT" || words[5] == "UTC" else { return nil }
        return timestamp(day: words[1], month: words[2], year: words[3], time: words[4])
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func timestamp(day: String, month: String, year: String, time: String) -> Timestamp? {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false).map { Int64($0) ?? -1 }
        guard let day = Int64(day), (1...31).contains(day), let month = months.firstIndex(of: month),
            var year = Int64(year), (0...9999).contains(year), parts.count == 3, (0...23).contains(parts[0]),
            (0...59).contains(parts[1]), (0...60).contains(parts[2])
        else { return nil }
        if year < 100 { year += year < 70 ? 2000 : 1900 }
        let days = CivilDate.days(year: year, month: Int64(month + 1), day: day)
        return Timestamp(milliseconds: ((days * 24 + parts[0]) * 60 + parts[1]) * 60_000 + parts[2] * 1000)
    }
}
