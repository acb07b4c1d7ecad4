internal import Commands

/// Draws a ``WatchState`` into the cells of a terminal. Pure.
package enum WatchScreen {
    /// - Returns: at most `rows` lines of at most `columns` cells, without escape sequences.
    package static func render(_ state: WatchState, columns: Int, rows: Int) -> [String] {
        guard columns > 0, rows > 0 else { return [] }
        var lines = [title(state, columns)]
        lines += counts(state, columns)
        lines += rates(state, columns)
        lines += notes(state)
        let errors = problems(state, columns)
        let wanted = state.workers.reduce(2) { $0 + 1 + $1.running.count }
        // Links get a third of the remaining rows, two thirds with `--all`, or more where workers and errors need less.
        var left = rows - lines.count
        let share = left / 3 * (state.favoursLinks ? 2 : 1)
        lines += links(state.links, columns, room: max(share, left - wanted - errors.count, 2))
        // Flows, keys and schedules get a line each, and a third of the remaining rows, or more where workers and errors
        // need less.
        left = rows - lines.count
        let relations = RelationText(state.relations, now: state.now, columns: columns)
        lines += relations.panel(
            room: max(left / 3, left - wanted - errors.count, min(relations.minRows, left - 3)))
        // Errors get a third of the remaining rows and workers the rest; either may use rows that the other leaves.
        left = rows - lines.count
        let errorRoom = max(min(errors.count, max(left / 3, left - wanted)), 0)
        lines += workers(state, columns, room: left - errorRoom)
        lines += errors.prefix(errorRoom)
        return lines.prefix(rows).map { TerminalText.cut($0, width: columns) }
    }

    // MARK: The head

    private static func title(_ state: WatchState, _ columns: Int) -> String {
        let time = state.now.description.dropFirst(11).prefix(8)
        let coordinator =
            state.hasCoordinator
            ? "coordinator\(state.coordinatorPID.map { " pid \($0)" } ?? " running")" : "waiting for the coordinator"
        let right = "\(coordinator)  \(time)Z"
        let left = TerminalText.cut("sluice \(state.path)", width: max(columns - right.count - 2, 6))
        let space = max(columns - TerminalText.width(left) - right.count, 1)
        return left + String(repeating: " ", count: space) + right
    }

    private static func counts(_ state: WatchState, _ columns: Int) -> [String] {
        let cells = CommandStatus.allCases.map { status in
            let count = Int64(state.counts[status] ?? 0)
            return (status.word, columns >= 100 ? Figures.grouped(count) : Figures.count(count))
        }
        var lines: [String] = [""]
        var names = ""
        var values = ""
        for (name, value) in cells {
            let width = max(name.count, value.count)
            if !names.isEmpty, names.count + width + 1 > columns {
                lines += [names, values]
                (names, values) = ("", "")
            }
            let separator = names.isEmpty ? "" : " "
            names += separator + TerminalText.fit(name, width: width, alignRight: true)
            values += separator + TerminalText.fit(value, width: width, alignRight: true)
        }
        return lines + [names, values, ""]
    }

    private static func rates(_ state: WatchState, _ columns: Int) -> [String] {
        let width = min(max(columns - 24, 0), WatchState.historyLength)
        func line(_ name: String, _ value: String, _ history: [Double]) -> String {
            TerminalText.fit(name, width: 12) + TerminalText.fit(value, width: 9, alignRight: true) + "  "
                + Sparkline.text(history, width: width)
        }
        // The mean of three seconds: a single second varies too much.
        func recent(_ history: [Double]) -> Int64 {
            let last = history.suffix(3)
            return last.isEmpty ? 0 : Int64((last.reduce(0, +) / Double(last.count)).rounded())
        }
        return [
            line("commands/s", Figures.count(recent(state.commandRates)), state.commandRates),
            line("bytes/s", Figures.bytes(recent(state.byteRates)), state.byteRates),
        ]
    }

    private static func notes(_ state: WatchState) -> [String] {
        let notes = state.warnings + state.pauses.map { "paused: \($0)" }
        guard notes.count > 4 else { return notes }
        return notes.prefix(3) + ["and \(notes.count - 3) more: see “sluice status”"]
    }

    // MARK: Links

    private static func links(_ links: LinkOverview, _ columns: Int, room: Int) -> [String] {
        guard links.count > 0 else { return [] }
        var panels = links.limited(to: room).shown.map { ($0.isUplink, LinkRows.panel($0, columns: columns)) }
        // Removes links until the others fit, with an empty line above and the sum below; uplinks are removed last.
        while true {
            let part = links.limited(to: panels.count)
            let rest = LinkRows.panelRest(part, columns: columns, maxLines: room > 4 ? 2 : 1)
            let lines = [""] + panels.flatMap(\.1) + rest
            if lines.count <= room || panels.isEmpty { return Array(lines.prefix(room)) }
            panels.remove(at: panels.lastIndex { !$0.0 } ?? panels.count - 1)
        }
    }

    // MARK: Workers

    /// Every worker gets a line; the remaining rows are divided among them.
    private static func workers(_ state: WatchState, _ columns: Int, room: Int) -> [String] {
        guard room > 1 else { return [] }
        guard !state.workers.isEmpty else { return ["", "no worker is running"] }
        let shown = state.workers.count < room ? state.workers[...] : state.workers.prefix(room - 2)
        var left = room - 1 - shown.count - (shown.count < state.workers.count ? 1 : 0)
        var lines = [""]
        for (index, worker) in shown.enumerated() {
            let slots = worker.concurrency.map { " of \($0)" } ?? ""
            lines.append(
                "worker \(worker.seat)  pid \(worker.pid)  \(worker.state.rawValue)  \(worker.running.count)\(slots) running"
            )
            let share = left / (shown.count - index)
            let rows = shortened(running(worker.running, state.now, columns), to: share)
            lines += rows
            left -= rows.count
        }
        if shown.count < state.workers.count { lines.append("and \(state.workers.count - shown.count) more workers") }
        return lines
    }

    /// Keeps the first lines, and counts the others in the last.
    private static func shortened(_ lines: [String], to room: Int) -> [String] {
        guard room > 0 else { return [] }
        guard lines.count > room else { return lines }
        return lines.prefix(room - 1) + ["  and \(lines.count - room + 1) more"]
    }

    // MARK: Errors

    private static func problems(_ state: WatchState, _ columns: Int) -> [String] {
        guard !state.problems.isEmpty else { return [] }
        return ["", "last errors"]
            + state.problems.map { problem in
                let which = problem.count > 1 ? "×\(problem.count)" : "…\(problem.id.suffix(12))"
                return
                    "  \(problem.at.dropFirst(11).prefix(8)) \(which) \(CommandStatus(name: problem.status)?.word ?? problem.status) \(problem.reason)"
            }
    }
}

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
