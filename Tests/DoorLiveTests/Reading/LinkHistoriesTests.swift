import Commands
import NetworkControl
import Testing

@testable import DoorLive

struct LinkHistoriesTests {
    private let start = Timestamp(milliseconds: 1_772_368_490_000)
    private let link = LiveLink(destination: "https://a.example:443", direction: .up)

    private func report(_ level: LinkLevel, _ history: [Double] = []) -> LinkReport {
        var report = LinkReport(destination: link.destination, level: level)
        report.history = history
        return report
    }

    @Test func `a level is noted when it changes, and is unknown while no coordinator is heard`() {
        var histories = LinkHistories()
        for (second, level) in [LinkLevel.good, .good, .poor].enumerated() {
            histories.note([report(level)], isHeard: true, now: start + .seconds(second))
        }
        histories.note([report(.poor)], isHeard: false, now: start + .seconds(9))
        let levels = histories.links[link]?.levels ?? []
        #expect(levels.map(\.name) == ["good", "poor", "unknown"])
        #expect(levels.map(\.since) == [start, start + .seconds(2), start + .seconds(9)])
    }

    @Test func `the goodput of an interval is the mean of its seconds, or a gap`() {
        var histories = LinkHistories()
        let shown = [report(.good, Array(repeating: 100, count: 50) + Array(repeating: 20, count: 10))]
        histories.note(shown, isHeard: true, now: start)
        histories.endInterval(shown, isHeard: true, at: start + .seconds(10))
        histories.endInterval(shown, isHeard: false, at: start + .seconds(20))
        #expect(histories.links[link]?.goodput.values == [20, nil])
    }

    @Test func `levels that ended an hour ago are forgotten, the present one is not`() {
        var histories = LinkHistories()
        histories.note([report(.good)], isHeard: true, now: start)
        histories.note([report(.poor)], isHeard: true, now: start + .seconds(60))
        histories.note([report(.poor)], isHeard: true, now: start + .seconds(9000))
        #expect(histories.links[link]?.levels.map(\.name) == ["poor"])
    }

    @Test func `of more than two hundred links, those that were not shown for longest are forgotten`() {
        var histories = LinkHistories()
        let reports = (0..<300).map { LinkReport(destination: "https://\($0).example:443", level: .good) }
        histories.note(Array(reports[0..<150]), isHeard: true, now: start)
        histories.note(Array(reports[150..<300]), isHeard: true, now: start + .seconds(1))
        #expect(histories.links.count == 200)
        for report in reports[150...] {
            #expect(histories.links[LiveLink(destination: report.destination, direction: .up)] != nil)
        }
    }
}
