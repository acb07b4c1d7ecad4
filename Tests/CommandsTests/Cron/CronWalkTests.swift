import Commands
import TestSupport
import Testing

@Suite(.enabled(if: MachineZones.isInstalled, "tzdata is not installed; deploy/prepare test installs it"))
struct CronWalkTests {
    @Test func `an expression fires at the minutes that a ticking clock of glibc finds`() throws {
        try walk("minutes", fields: 5, cases: isQuickRun ? 100 : 400, window: 3 * 86_400)
    }

    @Test func `an expression with seconds fires at the seconds that a ticking clock of glibc finds`() throws {
        try walk("seconds", fields: 6, cases: isQuickRun ? 20 : 60, window: 6 * 3600)
    }

    /// Compares the times of a window around a change of the zone, forwards and backwards.
    private func walk(_ name: String, fields: Int, cases count: Int, window: Int64) throws {
        var cases = CronCases(name)
        var (times, changes) = (0, 0)
        for _ in 0..<count {
            let zone = cases.zone()
            let change = zone.segment(at: Int64(cases.random.number(in: CronCases.period))).end
            let middle = change < CronCases.period.upperBound ? change : cases.instant(in: zone)
            let watched = middle - window / 2 - (middle - window / 2) % 60
            let (start, end) = (watched + 4 * 3600, watched + window)
            let (expression, text) = try drawn(&cases, fields, isDense: window < 86_400)
            let oracle = CronOracle(text)
            let expected = LocalClock.withZone(zone.name) { offset in
                oracle.times(from: watched, before: end, offset: offset).filter { $0 >= start }
            }
            let forwards = sequence(
                first: Timestamp(milliseconds: start * 1000 - 1), next: { expression.next(after: $0, in: zone) })
            let found = forwards.dropFirst().prefix { $0.milliseconds < end * 1000 }.map { $0.milliseconds / 1000 }
            let backwards = sequence(
                first: Timestamp(milliseconds: end * 1000), next: { expression.previous(before: $0, in: zone) })
            let foundBackwards = backwards.dropFirst().prefix { $0.milliseconds >= start * 1000 }
                .map { $0.milliseconds / 1000 }
            times += expected.count
            changes += change == middle ? 1 : 0
            #expect(found == expected, "“\(text)” in \(zone.name) from \(Timestamp(milliseconds: start * 1000))")
            #expect(
                foundBackwards.reversed() == expected,
                "“\(text)” in \(zone.name) back from \(Timestamp(milliseconds: end * 1000))")
        }
        print("\(name): \(count) windows, \(changes) of them around a change, with \(times) times")
    }

    /// An expression that exists.
    /// - Parameter isDense: whether it fires on every day.
    private func drawn(
        _ cases: inout CronCases, _ fields: Int, isDense: Bool
    ) throws -> (CronExpression, String) {
        while true {
            var text = cases.expression(fields: fields)
            if isDense { text = text.split(separator: " ").prefix(3).joined(separator: " ") + " * * *" }
            if let expression = try? CronExpression(parsing: text) { return (expression, text) }
        }
    }
}
