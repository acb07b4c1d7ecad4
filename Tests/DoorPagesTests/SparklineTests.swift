import Commands
import DoorLive
import Testing

@testable import DoorPages

struct SparklineTests {
    private func markup(_ values: [Double?], end: Int64 = 3_600_000) -> String {
        var series = LiveSeries()
        series.values = values
        series.end = Timestamp(milliseconds: end)
        return SparklineView(series: series, label: "l").html.markup
    }

    @Test func `an hour of values is at most a kilobyte`() {
        let markup = markup((0..<360).map { Double($0 * 7919 % 1000) })
        #expect(markup.utf8.count <= 1200, "\(markup.utf8.count)")
    }

    @Test func `a gap stays a gap, and no value is a line on the axis`() {
        #expect(markup([1, 2, nil, 2, 1]).split(separator: "M").count == 5)
        #expect(markup([]).contains("M0 31H240"))
        #expect(!markup([0, 0, 0]).contains("nan"))
    }

    @Test func `the highest value of the hour reaches the top`() {
        var values = [Double?](repeating: 1, count: 360)
        values[100] = 50
        #expect(markup(values).contains(" 2L"))
    }
}
