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

/// A limit on requests that a response states in other words than `Retry-After`. Pure.
///
/// | field | value |
/// |---|---|
/// | `X-RateLimit-Remaining`, `X-RateLimit-Reset` | GitHub and others; the reset is Unix time, or seconds from now |
/// | `RateLimit-Remaining`, `RateLimit-Reset` | draft-ietf-httpapi-ratelimit-headers-03: seconds from now |
/// | `RateLimit: "default";r=0;t=30` | the same draft since 08 |
package enum RequestLimit {
    /// The value that `Retry-After` has, or would have.
    /// - Parameters:
    ///   - status: only 403 and 429 are answers to too many requests. A 403 must say that none remains, because most are
    ///     refusals for good.
    ///   - header: the value of a field by its name; nil without one.
    ///   - now: this host's clock. Unix time is compared with the field `Date`, which has the server's.
    package static func retryAfter(_ status: Int, now: Timestamp, _ header: (String) -> String?) -> String? {
        if let value = header("retry-after") { return value }
        guard status == 403 || status == 429 else { return nil }
        if let limit = header("ratelimit").flatMap(parameters), let wait = limit["t"],
            limit["r"] == 0 || limit["r"] == nil && status == 429
        {
            return "\(wait)"
        }
        let date = header("date").flatMap(RetryAfter.date) ?? now
        for prefix in ["x-ratelimit-", "ratelimit-"] {
            guard let reset = header("\(prefix)reset").flatMap(number) else { continue }
            let remaining = header("\(prefix)remaining").flatMap(number)
            guard remaining == 0 || remaining == nil && status == 429 else { continue }
            return "\(seconds(reset, date))"
        }
        return nil
    }

    /// A number above a thousand million is Unix time in seconds, and one above a million million in milliseconds.
    private static func seconds(_ reset: Int64, _ date: Timestamp) -> Int64 {
        switch reset {
        case ..<1_000_000_000: reset
        case ..<1_000_000_000_000: max(reset - date.milliseconds / 1000, 0)
        default: max((reset - date.milliseconds + 999) / 1000, 0)
        }
    }

    /// A number that is not negative, rounded up.
    private static func number(_ text: String) -> Int64? {
        let parts = text.trimmed.split(separator: ".", omittingEmptySubsequences: false)
        guard 1...2 ~= parts.count, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isDigit) }),
            let whole = Int64(parts[0]), whole < Int64.max
        else { return nil }
        return parts.count == 2 && parts[1].contains { $0 != "0" } ? whole + 1 : whole
    }

    /// The numbers of the first item of a list.
    private static func parameters(_ field: String) -> [String: Int64] {
        let item = field.split(separator: ",").first ?? ""
        let pairs = item.split(separator: ";").dropFirst().map { $0.split(separator: "=", maxSplits: 1) }
        return Dictionary(
            pairs.compactMap { pair in
                pair.count == 2 ? number(String(pair[1])).map { (String(pair[0]).trimmed, $0) } : nil
            }
        ) { first, _ in first }
    }
}
