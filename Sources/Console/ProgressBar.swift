/// A bar of block characters, and the line around it.
package enum ProgressBar {
    /// - Parameters:
    ///   - fraction: 0…1; other values are clamped.
    ///   - width: characters.
    package static func bar(_ fraction: Double, width: Int) -> String {
        guard width > 0 else { return "" }
        let clamped = fraction.isFinite ? min(max(fraction, 0), 1) : 0
        let eighths = Int((clamped * Double(width) * 8).rounded(.down))
        let full = eighths / 8
        let rest = eighths % 8
        var text = String(repeating: "█", count: full)
        if rest > 0 { text.append(["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][rest]) }
        return text + String(repeating: "░", count: width - full - (rest > 0 ? 1 : 0))
    }

    /// `verifying 1.2 GB of 2.7 GB`: the note of commands that compute a checksum.
    package static func verifying(_ bytes: Int64, of total: Int64) -> String {
        "verifying \(Figures.bytes(bytes))\(total > 0 ? " of \(Figures.bytes(total))" : "")"
    }

    /// `2/5 done  45%  ████░░░  1.2 GB of 2.7 GB  88 MB/s  17s left`, without the parts that do not fit.
    package static func line(_ progress: TransferProgress, columns: Int) -> String {
        var parts: [String] = []
        if progress.commands > 1 {
            parts.append("\(progress.ended)/\(progress.commands) done")
        }
        if progress.failed > 0 { parts.append("\(progress.failed) failed") }
        var tail: [String] = []
        if progress.total > 0 {
            parts.append("\(Int(min(max(progress.fraction, 0), 1) * 100))%")
            tail.append("\(Figures.bytes(progress.done)) of \(Figures.bytes(progress.total))")
        }
        if progress.rate > 0 {
            tail.append(Figures.rate(progress.rate))
            let left = max(progress.total - progress.done, 0)
            if left > 0 { tail.append("\(Duration.seconds(left / max(progress.rate, 1)).shortText) left") }
        } else if progress.ended < progress.commands {
            tail.append(progress.note)
        }
        let head = parts.joined(separator: "  ")
        while true {
            let text = tail.filter { !$0.isEmpty }.joined(separator: "  ")
            let room = columns - head.count - text.count - 5
            if room >= 8 || tail.isEmpty {
                let bar = room >= 4 ? bar(progress.fraction, width: min(room, 40)) : ""
                return String([head, bar, text].filter { !$0.isEmpty }.joined(separator: "  ").prefix(max(columns, 0)))
            }
            tail.removeLast()
        }
    }
}
