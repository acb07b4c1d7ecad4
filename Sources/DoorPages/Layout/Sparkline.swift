internal import Commands
internal import Console
internal import DoorLive

/// A small plot of the last hour at most, drawn on the server. The axis begins at zero, and a gap stays a gap.
struct SparklineView {
    let series: LiveSeries
    /// For a reader that does not see it.
    let label: String
    var tone = "run"
    var key: String?

    private static let width = 240
    private static let height = 32
    /// A shorter series stands at the right of the plot.
    private static let minSlots = 60
    /// The points of a plot: more do not fit into its pixels, and an overview has twenty plots.
    private static let maxPoints = 60

    /// The time that the plot of a series covers, in words.
    static func span(of series: LiveSeries) -> String {
        let seconds = Double(max(series.values.count, minSlots)) * series.interval.seconds
        return seconds >= 3600 ? "hour" : "\(Int((seconds / 60).rounded())) minutes"
    }

    var html: HTML {
        let top = Swift.max(series.values.compactMap(\.self).max() ?? 0, 1e-9)
        return tag(
            .svg, .class("spark \(tone)"), .the(.viewBox, "0 0 240 32"), .the(.preserveAspectRatio, "none"),
            .the(.role, "img"), .the(.label, label)
        ) {
            tag(.path, .class("area"), .the(.d, path(top, closed: true)), key.map { .live("\($0)-area") })
            tag(
                .path, .class("line"), .the(.d, path(top, closed: false)), .the(.vectorEffect, "non-scaling-stroke"),
                key.map { .live("\($0)-line") })
        }
    }

    /// The maximum of each part of the series, by its distance from the newest part. Parts are those of the clock, so that
    /// a new value does not change the others.
    private var points: [Int: Double] {
        let values = series.values
        let length = (max(values.count, Self.minSlots) + Self.maxPoints - 1) / Self.maxPoints
        let interval = max(series.interval.milliseconds, 1)
        let newest = series.end.milliseconds / interval
        var points: [Int: Double] = [:]
        for (index, value) in values.enumerated() {
            guard let value else { continue }
            let part = Int((newest - Int64(values.count - 1 - index)) / Int64(length))
            let distance = Int(newest / Int64(length)) - part
            points[distance] = max(points[distance] ?? 0, value)
        }
        return points
    }

    /// - Parameter closed: each run of values down to the axis.
    private func path(_ top: Double, closed: Bool) -> String {
        let points = points
        var path = ""
        var start: Int?
        var last = 0
        func end() {
            if closed, let start { path += "L\(last) \(Self.height)L\(start) \(Self.height)Z" }
            start = nil
        }
        for distance in stride(from: Self.maxPoints, through: 0, by: -1) {
            guard let value = points[distance] else {
                end()
                continue
            }
            let x = max(Self.width - distance * Self.width / Self.maxPoints, 0)
            let y = Self.height - 1 - Int(value / top * Double(Self.height - 3))
            path += "\(start == nil ? "M" : "L")\(x) \(y)"
            if start == nil { start = x }
            last = x
        }
        end()
        return path.isEmpty ? "M0 31H240" : path
    }
}
