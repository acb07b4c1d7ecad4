internal import Commands

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
