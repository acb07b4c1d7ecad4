internal import Commands
internal import Console
internal import DoorLive

/// Goodput over time with its axes, and a band that shows the level.
struct LinkPlot {
    let history: DoorLive.LinkChart
    let now: Timestamp

    private static let left = 92.0
    private static let width = 708.0
    private static let height = 140.0
    private static let hour = 3600.0

    var html: HTML {
        let values = history.goodput.values
        let top = Self.ceiling(values.compactMap(\.self).max() ?? 0)
        return tag(
            .svg, .class("big run"), .the(.viewBox, "0 0 800 190"), .the(.preserveAspectRatio, "xMinYMid"),
            .the(.role, "img"),
            .the(.label, "Goodput in the last hour, at most \(Figures.rate(Int64(top)))")
        ) {
            for step in 0...2 { axis(Double(step) / 2, top) }
            tag(.path, .class("area"), .the(.d, path(top, closed: true)))
            tag(.path, .class("line"), .the(.d, path(top, closed: false)))
            for (index, level) in history.levels.enumerated() {
                band(level, until: index + 1 < history.levels.count ? history.levels[index + 1].since : now)
            }
            for (x, word) in [(0.0, "60 min ago"), (0.5, "30"), (1.0, "now")] {
                tag(
                    .text, .the(.x, number(Self.left + x * Self.width)), .the(.y, "182"),
                    .the(.anchor, x == 0 ? "start" : x == 1 ? "end" : "middle")
                ) { word }
            }
        }
    }

    private func axis(_ share: Double, _ top: Double) -> HTML {
        let y = 10 + Self.height * (1 - share)
        var all = tag(
            .line, .class("axis"), .the(.x1, number(Self.left)), .the(.x2, "800"), .the(.y1, number(y)),
            .the(.y2, number(y)))
        all.append(
            tag(.text, .the(.x, "84"), .the(.y, number(y + 4)), .the(.anchor, "end")) {
                Figures.rate(Int64(top * share))
            })
        return all
    }

    private func path(_ top: Double, closed: Bool) -> String {
        let series = history.goodput
        let step = max(series.interval.seconds, 1)
        let late = (now - series.end).seconds
        var path = ""
        var start: Double?
        var last = 0.0
        let floor = 10 + Self.height
        for (index, value) in series.values.enumerated() {
            let age = late + Double(series.values.count - 1 - index) * step
            let x = Self.left + Self.width * min(max(1 - age / Self.hour, 0), 1)
            guard let value else {
                if closed, let begin = start {
                    path += "L\(number(last)) \(number(floor))L\(number(begin)) \(number(floor))Z"
                }
                start = nil
                continue
            }
            path += "\(start == nil ? "M" : "L")\(number(x)) \(number(floor - Self.height * min(value / top, 1)))"
            if start == nil { start = x }
            last = x
        }
        if closed, let begin = start { path += "L\(number(last)) \(number(floor))L\(number(begin)) \(number(floor))Z" }
        return path.isEmpty ? "M0 0" : path
    }

    private func band(_ level: DoorLive.LinkChart.Level, until end: Timestamp) -> HTML {
        let from = Self.left + Self.width * min(max(1 - (now - level.since).seconds / Self.hour, 0), 1)
        let to = Self.left + Self.width * min(max(1 - (now - end).seconds / Self.hour, 0), 1)
        return tag(
            .rect, .class("level \(level.name)"), .the(.x, number(from)), .the(.y, "156"), .the(.height, "8"),
            .the(.width, number(max(to - from, 1)))
        ) { tag(.title) { level.name } }
    }

    /// The next of 1, 2, 5 and their tenfolds.
    static func ceiling(_ value: Double) -> Double {
        var unit = 1000.0
        while unit < 1e15 {
            for factor in [1.0, 2, 5] where value <= unit * factor { return unit * factor }
            unit *= 10
        }
        return value
    }

    private func number(_ value: Double) -> String { Figures.decimal(value, digits: 1) }
}
