internal import Commands

extension WatchScreen {
    /// Commands of one type and destination whose size is not known share a line from this number on.
    private static let minGroup = 4
    /// A narrower terminal shows the name, the bar and the rate only.
    private static let wideColumns = 72

    /// The lines of a worker's commands: first those with a known size, a line each, then the others.
    static func running(_ commands: [RunningCommand], _ now: Timestamp, _ columns: Int) -> [String] {
        var lines = commands.filter { $0.progress.total > 0 }.map { line($0, now, columns) }
        var groups: [Group: [RunningCommand]] = [:]
        var order: [Group] = []
        for command in commands where command.progress.total <= 0 {
            let group = Group(type: command.type, destination: command.destination)
            if groups[group] == nil { order.append(group) }
            groups[group, default: []].append(command)
        }
        for group in order {
            guard let members = groups[group] else { continue }
            if members.count < minGroup {
                lines += members.map { line($0, now, columns) }
            } else {
                // The longest running comes first.
                let age = members.first.map { (now - $0.since).shortText } ?? ""
                let destination = group.destination == .none ? "" : group.destination.text
                let text =
                    "\(members.count) × \(group.type) \(destination)"
                lines.append("  " + TerminalText.fit(text, width: max(columns - 4 - age.count, 8)) + "  " + age)
            }
        }
        return lines
    }

    private struct Group: Hashable {
        var type: String
        var destination: Destination
    }

    private static func line(_ command: RunningCommand, _ now: Timestamp, _ columns: Int) -> String {
        let isWide = columns >= wideColumns
        let age = (now - command.since).shortText
        var figures = age
        var bar = ""
        let progress = command.progress
        if progress.total > 0 {
            let fraction = Double(progress.offset) / Double(progress.total)
            let rate = progress.rate > 0 ? "  \(Figures.rate(progress.rate))" : ""
            let phase = progress.isVerifying ? "verifying " : ""
            let percent = Int(min(max(fraction, 0), 1) * 100)
            figures = "\(phase)\(percent)%" + (isWide ? "  \(Figures.bytes(progress.total))\(rate)  \(age)" : rate)
            bar = ProgressBar.bar(fraction, width: isWide ? 16 : 8) + " "
        }
        let room = max(columns - 4 - bar.count - figures.count, 8)
        return "  " + TerminalText.fit(title(command, room: room), width: room) + "  " + bar + figures
    }

    /// The name first, because it says most; then as much as fits of the type, the id and the destination.
    private static func title(_ command: RunningCommand, room: Int) -> String {
        let id = "…\(command.id.description.suffix(12))"
        let destination = command.destination == .none ? "" : " \(command.destination.text)"
        guard let name = command.name else { return "\(command.type) \(id)\(destination)" }
        let rest = " \(command.type) …\(command.id.description.suffix(8))"
        let left = room - TerminalText.width(rest)
        guard left >= 16 else { return TerminalText.cutStart(name, width: room) }
        return TerminalText.cutStart(name, width: left) + rest + destination
    }
}
