internal import Commands
package import Host

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

/// The progress of a set of commands.
package struct TransferProgress: Sendable, Equatable {
    package var commands: Int
    /// Commands that have ended, with or without success.
    package var ended = 0
    package var failed = 0
    package var done: Int64 = 0
    /// Bytes of all commands; 0 where they are unknown.
    package var total: Int64 = 0
    /// Bytes per second.
    package var rate: Int64 = 0
    /// Shown while no bytes move.
    package var note = ""

    package init(commands: Int, total: Int64 = 0) {
        self.commands = commands
        self.total = total
    }

    package var fraction: Double {
        if total > 0 { return Double(done) / Double(total) }
        return commands > 0 ? Double(ended) / Double(commands) : 0
    }
}

/// The progress of copying files, and when to show it. Pure.
package struct CopyProgress: Sendable {
    private var progress: TransferProgress
    private var pace: ProgressPace

    /// - Parameters:
    ///   - files: the number of files to copy.
    ///   - total: bytes of all files.
    package init(files: Int, total: Int64, now: MonotonicTime) {
        progress = TransferProgress(commands: files, total: total)
        pace = ProgressPace(now: now)
    }

    /// Adds copied bytes and complete files.
    /// - Returns: the progress to show now; nil where it is too early.
    package mutating func add(bytes: Int64 = 0, files: Int = 0, now: MonotonicTime) -> TransferProgress? {
        progress.done += bytes
        progress.ended += files
        guard pace.isDue(now) else { return nil }
        progress.rate = pace.perSecond(progress.done, now: now)
        return progress
    }
}

/// The number of commands that a bulk has submitted, and when to show it. Pure.
package struct BulkProgress: Sendable {
    private var count: Int64 = 0
    private var pace: ProgressPace

    package init(now: MonotonicTime) { pace = ProgressPace(now: now) }

    /// - Returns: the text to show now; nil where it is too early.
    package mutating func add(_ commands: Int, now: MonotonicTime) -> String? {
        count += Int64(commands)
        guard pace.isDue(now) else { return nil }
        return "\(Figures.grouped(count)) submitted  \(Figures.grouped(pace.perSecond(count, now: now)))/s"
    }
}

/// When to show progress: not in the first 400 ms, which short work does not exceed, then five times a
/// second.
struct ProgressPace: Sendable {
    private let start: MonotonicTime
    private var next: MonotonicTime

    private static let firstDelay: Duration = .milliseconds(400)
    private static let interval: Duration = .milliseconds(200)

    init(now: MonotonicTime) {
        start = now
        next = now + Self.firstDelay
    }

    mutating func isDue(_ now: MonotonicTime) -> Bool {
        guard now >= next else { return false }
        next = now + Self.interval
        return true
    }

    /// The rate since the start.
    /// - Parameter amount: done since the start.
    func perSecond(_ amount: Int64, now: MonotonicTime) -> Int64 {
        Int64(Double(amount) / max((now - start).seconds, 1e-9))
    }
}
