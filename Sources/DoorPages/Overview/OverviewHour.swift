internal import Commands
internal import Console
internal import DoorLive

/// How many commands ended in the last hour, or since the door has started.
struct OverviewHour {
    let visit: Visit

    init(_ visit: Visit) { self.visit = visit }

    var html: HTML {
        tag(.section, .class("panel"), .the(.labelledBy, "hour-title")) {
            tag(.h2, .id("hour-title"), .live("hour")) { "Last \(SparklineView.span(of: visit.live.succeeded))" }
            tag(.div, .class("plots")) {
                plot("done", visit.live.succeeded, visit.live.rates?.succeeded, "ok")
                plot("failed", visit.live.failed, visit.live.rates?.failed, "bad")
            }
        }
    }

    private func plot(_ word: String, _ series: LiveSeries, _ now: Double?, _ tone: String) -> HTML {
        let seconds = max(series.interval.seconds, 0.001)
        // The present interval is not in the series yet.
        let top = max((series.values.compactMap(\.self).max() ?? 0) / seconds, now ?? 0)
        return tag(.div, .class("plot")) {
            tag(.span, .class("legend")) {
                tag(.b, .class("num"), .live("\(word)-rate")) { now.map(Self.rate) ?? "–" }
                " \(word)/s"
                tag(.span, .class("dim num"), .live("\(word)-top")) { " · max \(Self.rate(top))" }
            }
            SparklineView(
                series: series, label: "\(word) a second in the last \(SparklineView.span(of: series))", tone: tone,
                key: word
            ).html
        }
    }

    private static func rate(_ value: Double) -> String {
        value >= 100 ? Figures.count(Int64(value)) : Figures.decimal(value, digits: 1)
    }
}
