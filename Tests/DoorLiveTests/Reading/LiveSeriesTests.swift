import Commands
import Testing

@testable import DoorLive

struct LiveSeriesTests {
    private func time(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: seconds * 1000) }

    @Test func `an interval without a value is a gap`() {
        var series = LiveSeries()
        series.append(3, endingAt: time(10))
        series.append(4, endingAt: time(20))
        series.append(5, endingAt: time(50))
        #expect(series.values == [3, 4, nil, nil, 5] && series.end == time(50))
    }

    @Test func `a series has at most an hour, and begins again after a longer gap or a clock that was set back`() {
        var series = LiveSeries()
        for number in 1...400 { series.append(Double(number), endingAt: time(Int64(number) * 10)) }
        #expect(series.values.count == 360 && series.values.first == 41 && series.values.last == 400)
        series.append(1, endingAt: time(20))
        #expect(series.values == [1])
        series.append(2, endingAt: time(100_000))
        #expect(series.values == [2])
    }

    @Test(arguments: [(0, 10), (9, 10), (10, 20), (-1, 0), (-10, 0)] as [(Int64, Int64)])
    func `the end of an interval is a multiple of its length`(seconds: Int64, end: Int64) {
        #expect(LiveSeries().end(after: time(seconds)) == time(end))
    }
}
