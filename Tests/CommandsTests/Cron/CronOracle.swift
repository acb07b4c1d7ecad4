import Commands

/// A second implementation of cron expressions, which looks at each minute or second in turn.
///
/// It reads only what ``CronCases`` writes, and applies the rule of Debian's cron to a clock that ticks: a fixed
/// expression keeps the latest local time that the clock has shown.
struct CronOracle {
    /// The reading of a clock.
    struct LocalTime {
        var second, minute, hour, day, month, weekday: Int
        var monthLength: Int
    }

    private let fields: [Set<Int>]
    private let texts: [String]
    let isInterval: Bool
    /// Seconds between two instants that can match.
    let resolution: Int64

    init(_ expression: String) {
        var texts = expression.uppercased().split(separator: " ").map(String.init)
        resolution = texts.count == 5 ? 60 : 1
        if texts.count == 5 { texts.insert("0", at: 0) }
        self.texts = texts
        fields = zip(texts, [(0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]).map { text, range in
            Self.values(text, range.0, range.1)
        }
        isInterval = texts[1].hasPrefix("*") || texts[2].hasPrefix("*")
    }

    func matches(_ time: LocalTime) -> Bool {
        guard fields[0].contains(time.second), fields[1].contains(time.minute), fields[2].contains(time.hour),
            fields[4].contains(time.month)
        else { return false }
        let byDate = fields[3].contains(time.day) || texts[3] == "L" && time.day == time.monthLength
        let byWeekday =
            fields[5].contains(time.weekday) || fields[5].contains(time.weekday == 0 ? 7 : time.weekday)
            || special(texts[5], time)
        return texts[3].hasPrefix("*") || texts[5].hasPrefix("*") ? byDate && byWeekday : byDate || byWeekday
    }

    /// `5L` and `2#3`.
    private func special(_ text: String, _ time: LocalTime) -> Bool {
        if text.hasSuffix("L") {
            return Int(text.dropLast()).map { $0 % 7 } == time.weekday && time.day + 7 > time.monthLength
        }
        let parts = text.split(separator: "#").compactMap { Int($0) }
        return parts.count == 2 && parts[0] % 7 == time.weekday && (time.day - 1) / 7 + 1 == parts[1]
    }

    /// The times at which the expression fires among `start..<end`, in Unix seconds.
    /// - Parameters:
    ///   - start: from here on the clock is watched; a multiple of ``resolution``.
    ///   - offset: seconds to add to an instant for its local time.
    func times(from start: Int64, before end: Int64, offset: (Int64) -> Int64) -> [Int64] {
        var times: [Int64] = []
        var shown = start + offset(start) - resolution
        var lastOffset = offset(start)
        for instant in stride(from: start, to: end, by: Int64.Stride(resolution)) {
            let current = offset(instant)
            let local = instant + current
            if isInterval || abs(current - lastOffset) >= 3 * 3600 {
                shown = local - resolution
            }
            lastOffset = current
            // The local times since the last one that was shown: one, several after a gap, none in a repetition.
            let skipped = stride(from: shown + resolution, through: local, by: Int64.Stride(resolution))
            if skipped.contains(where: { matches(Self.localTime($0)) }) { times.append(instant) }
            shown = max(shown, local)
        }
        return times
    }

    /// The fields of a local time.
    static func localTime(_ local: Int64) -> LocalTime {
        let days = local >= 0 ? local / 86_400 : (local - 86_399) / 86_400
        let (date, time) = (CivilDate.date(days: days), Int(local - days * 86_400))
        return LocalTime(
            second: time % 60, minute: time / 60 % 60, hour: time / 3600, day: Int(date.day), month: Int(date.month),
            weekday: Int(((days + 4) % 7 + 7) % 7),
            monthLength: Int(CivilDate.daysInMonth(date.month, of: date.year)))
    }

    private static func values(_ text: String, _ low: Int, _ high: Int) -> Set<Int> {
        var values: Set<Int> = []
        for item in text.split(separator: ",") where !isSpecial(item) {
            let parts = item.split(separator: "/")
            let ends = parts[0].split(separator: "-").map { number($0, months: low == 1 && high == 12) }
            let last = ends.count == 2 ? ends[1] : parts.count == 2 || item == "*" ? high : ends[0]
            let first = parts[0] == "*" ? low : ends[0]
            for value in stride(
                from: first, through: parts[0] == "*" ? high : last, by: parts.count == 2 ? Int(parts[1])! : 1)
            {
                values.insert(value)
            }
        }
        return values
    }

    /// `L`, `5L` and `2#3`, but not `JUL`.
    private static func isSpecial(_ item: Substring) -> Bool {
        item.contains("#") || item.hasSuffix("L") && (item == "L" || Int(item.dropLast()) != nil)
    }

    private static func number(_ text: Substring, months: Bool) -> Int {
        if let number = Int(text) { return number }
        let names =
            months
            ? ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
            : ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
        return names.firstIndex(of: String(text)).map { months ? $0 + 1 : $0 } ?? 0
    }
}
