package import Commands

/// Writes the three forms of a date (RFC 9110, section 5.6.7).
package enum HTTPDateText {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let weekdays = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"]

    /// `Fri, 02 Jan 2026 00:00:00 GMT`
    package static func fixed(_ time: Timestamp) -> String {
        let parts = parts(time)
        return "\(parts.weekday.prefix(3)), \(two(parts.day)) \(parts.month) \(parts.year) \(parts.clock) GMT"
    }

    /// `Friday, 02-Jan-26 00:00:00 GMT`
    package static func obsolete(_ time: Timestamp) -> String {
        let parts = parts(time)
        return "\(parts.weekday), \(two(parts.day))-\(parts.month)-\(two(parts.year % 100)) \(parts.clock) GMT"
    }

    /// `Fri Jan  2 00:00:00 2026`
    package static func asctime(_ time: Timestamp) -> String {
        let parts = parts(time)
        let day = parts.day < 10 ? " \(parts.day)" : "\(parts.day)"
        return "\(parts.weekday.prefix(3)) \(parts.month) \(day) \(parts.clock) \(parts.year)"
    }

    private struct Parts {
        var weekday, month, clock: String
        var day, year: Int64
    }

    private static func parts(_ time: Timestamp) -> Parts {
        let seconds = time.milliseconds / 1000
        let days = seconds / 86_400
        let date = CivilDate.date(days: days)
        let rest = seconds % 86_400
        return Parts(
            weekday: weekdays[Int(days % 7)], month: months[Int(date.month - 1)],
            clock: "\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))", day: date.day, year: date.year)
    }

    private static func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
