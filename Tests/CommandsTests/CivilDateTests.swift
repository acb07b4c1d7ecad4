import Commands
import Testing

@Suite struct CivilDateTests {
    @Test(
        arguments: [
            (1970, 1, 1, 0), (1969, 12, 31, -1), (2000, 2, 29, 11_016), (2026, 3, 1, 20_513), (0, 1, 1, -719_528),
        ] as [(Int64, Int64, Int64, Int64)])
    func `a date and its number of days agree`(_ year: Int64, _ month: Int64, _ day: Int64, _ days: Int64) {
        #expect(CivilDate.days(year: year, month: month, day: day) == days)
        let date = CivilDate.date(days: days)
        #expect(date.year == year && date.month == month && date.day == day)
    }

    @Test func `days follow each other through 800 years`() {
        var last = CivilDate.date(days: -146_098)
        for days in Int64(-146_097)...146_097 {
            let date = CivilDate.date(days: days)
            let isNextDay = date.day == last.day + 1 && date.month == last.month
            let isNextMonth = date.day == 1 && last.day == CivilDate.daysInMonth(last.month, of: last.year)
            guard isNextDay || isNextMonth, CivilDate.days(year: date.year, month: date.month, day: date.day) == days
            else {
                Issue.record("day \(days) is \(date), after \(last)")
                return
            }
            last = date
        }
    }
}
