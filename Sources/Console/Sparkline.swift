/// A row of bars, one for each value.
package enum Sparkline {
    private static let levels: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// - Parameters:
    ///   - values: oldest first; of more than `width`, the newest are shown.
    ///   - width: characters; missing values are spaces on the left.
    package static func text(_ values: [Double], width: Int) -> String {
        let shown = values.suffix(max(width, 0))
        let top = shown.max() ?? 0
        var text = String(repeating: " ", count: max(width - shown.count, 0))
        for value in shown {
            guard value > 0, top > 0, value.isFinite else {
                text.append(value > 0 ? "█" : "▁")
                continue
            }
            text.append(levels[min(Int((value / top * 8).rounded(.up)), 8) - 1])
        }
        return text
    }
}
