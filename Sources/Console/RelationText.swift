package import Commands

/// The lines of flows, batches, ordering keys and schedules. Pure.
package struct RelationText {
    private let overview: RelationOverview
    private let now: Timestamp
    private let columns: Int

    /// A narrower terminal shows the name, the bar and the numbers only.
    private static let wideColumns = 72
    private static let maxName = 40
    /// Schedules without a next time that are shown.
    private static let maxHeld = 3

    /// - Parameter columns: of the terminal; longer lines are cut.
    package init(_ overview: RelationOverview, now: Timestamp, columns: Int) {
        self.overview = overview
        self.now = now
        self.columns = columns
    }

    /// All lines; empty where there are none of them.
    package var lines: [String] {
        (flowHead + flows + batchHead + batches + keys + schedules + held(Self.maxHeld)).map(cut)
    }

    /// The rows of a live screen without single flows, batches and reasons.
    var minRows: Int { overview.isEmpty ? 0 : 1 + (flowHead + batchHead + keys + schedules).count }

    /// The lines of a live screen below an empty one, the more important ones where there is little room.
    package func panel(room: Int) -> [String] {
        let heads = flowHead + batchHead + keys + schedules
        guard !heads.isEmpty, room > 1 else { return [] }
        var left = max(room - 1 - heads.count, 0)
        let held = held(min(left, Self.maxHeld))
        left -= held.count
        let flows = flows.prefix(left)
        let batches = batches.prefix(left - flows.count)
        let shown = flowHead + flows + batchHead + batches + keys + schedules + held
        return [""] + shown.prefix(room - 1).map(cut)
    }

    private func cut(_ line: String) -> String { TerminalText.cut(line, width: columns) }

    private func count(_ number: Int, isComplete: Bool) -> String {
        Figures.grouped(Int64(number)) + (isComplete ? "" : "+")
    }

    // MARK: Flows and batches

    /// A flow or a batch.
    private struct Progress {
        var command: Command
        var name: String
        var size: Int
        var ended: Int
        var failed: Int
        /// Behind the time.
        var note = ""
    }

    private var flowHead: [String] {
        let flows = overview.flows
        guard flows.count > 0 else { return [] }
        return [name("flows") + "\(count(flows.count, isComplete: flows.isComplete)) open"]
    }

    private var flows: [String] {
        overview.flows.newest.map {
            line(
                Progress(
                    command: $0.command, name: $0.name.isEmpty ? "flow" : $0.name, size: $0.nodes,
                    ended: $0.nodes - $0.open, failed: $0.failed))
        }
    }

    private var batchHead: [String] {
        let batches = overview.batches
        guard batches.count > 0 else { return [] }
        return [name("batches") + "\(count(batches.count, isComplete: batches.isComplete)) open"]
    }

    private var batches: [String] {
        overview.batches.newest.map {
            line(
                Progress(
                    command: $0.command, name: $0.name.isEmpty ? "batch" : $0.name, size: $0.members,
                    ended: $0.members - $0.open, failed: $0.failed, note: $0.isSealed ? "" : ", takes more"))
        }
    }

    private func line(_ progress: Progress) -> String {
        let isWide = columns >= Self.wideColumns
        let (ended, size) = (Int64(progress.ended), Int64(progress.size))
        let fraction = size > 0 ? Double(ended) / Double(size) : 0
        let failed = progress.failed > 0 ? "  \(Figures.count(Int64(progress.failed))) failed" : ""
        let numbers =
            isWide
            ? "\(Figures.grouped(ended)) of \(Figures.grouped(size))\(failed)  "
                + (now - progress.command.createdAt).shortText + progress.note
            : "\(Figures.count(ended))/\(Figures.count(size))\(failed)"
        let tail = ProgressBar.bar(fraction, width: isWide ? 16 : 8) + " " + numbers
        let id = " …\(progress.command.id.description.suffix(isWide ? 12 : 8))"
        let room = max(columns - 4 - TerminalText.width(tail), 8)
        let title = TerminalText.cut(progress.name, width: max(min(room - TerminalText.width(id), Self.maxName), 4))
        return "  " + TerminalText.fit(title + id, width: min(room, Self.maxName + id.count)) + "  " + tail
    }

    // MARK: Ordering keys

    private var keys: [String] {
        let keys = overview.keys
        guard keys.keys > 0 else { return [] }
        let waiting = count(keys.waiting, isComplete: keys.isComplete)
        let commands = keys.waiting == 1 && keys.isComplete ? "command waits" : "commands wait"
        let longest = keys.longest.map { "; “\(short($0.key))” has \(Figures.grouped(Int64($0.waiting)))" } ?? ""
        let number = count(keys.keys, isComplete: keys.isComplete)
        return [name("keys") + "\(waiting) \(commands) for \(number)\(longest)"]
    }

    // MARK: Schedules

    private var schedules: [String] {
        let schedules = overview.schedules
        guard schedules.count > 0 else { return [] }
        var parts: [String] = []
        if let next = schedules.next {
            let wait = next.at > now ? "in \((next.at - now).shortText)" : "due"
            let day = next.at.description.prefix(10) == now.description.prefix(10)
            let time = next.at.description.dropFirst(day ? 11 : 0).prefix(day ? 8 : 19)
            parts.append("“\(short(next.name))” \(wait) (\(time)Z)")
        }
        parts.append("\(count(schedules.count, isComplete: schedules.isComplete)) in all")
        if schedules.paused > 0 { parts.append("\(Figures.grouped(Int64(schedules.paused))) paused") }
        if !schedules.held.isEmpty { parts.append("\(Figures.grouped(Int64(schedules.held.count))) held") }
        return [name("schedules") + parts.joined(separator: ", ")]
    }

    /// Why schedules have no next time.
    private func held(_ limit: Int) -> [String] {
        let held = overview.schedules.held
        guard limit > 0 else { return [] }
        guard held.count > limit else { return held.map { "  “\(short($0.name))” is held: \($0.reason)" } }
        return held.prefix(limit - 1).map { "  “\(short($0.name))” is held: \($0.reason)" }
            + ["  and \(held.count - limit + 1) more held: see “sluice schedule list”"]
    }

    private func name(_ text: String) -> String { TerminalText.fit(text, width: 13) }

    private func short(_ text: String) -> String { TerminalText.cut(text, width: 24) }
}
