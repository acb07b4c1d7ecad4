package import Commands

/// A list of commands in the width of a terminal. Pure.
package enum CommandRows {
    package struct Row: Sendable {
        var id: CommandID
        var age: Duration
        var type: String
        var subject: CommandSubject?
        var destination: Destination
        var status: CommandStatus
        var reason: String?

        package init(
            id: CommandID, age: Duration, type: String, subject: CommandSubject?, destination: Destination,
            status: CommandStatus, reason: String?
        ) {
            self.id = id
            self.age = age
            self.type = type
            self.subject = subject
            self.destination = destination
            self.status = status
            self.reason = reason
        }

        /// The file or URL; the type and the destination where the payload names neither.
        fileprivate var title: String {
            subject?.title ?? (destination == .none ? type : "\(type) \(destination.text)")
        }
    }

    /// Ends of ids that a person can copy: all of the last group.
    private static let idLengths = 8...12
    /// A column for the reason with fewer cells is not worth it; the reason gets a line of its own.
    private static let minReason = 20
    private static let minTitle = 16
    private static let maxTitle = 60

    /// One line a command: the end of its id, age, file or URL, status and reason. Where the terminal is too
    /// narrow, a reason has the next line.
    package static func lines(_ rows: [Row], columns: Int, withHeader: Bool) -> [String] {
        guard !rows.isEmpty else { return [] }
        let idLength = idLength(rows)
        let ages = rows.map { $0.age.roundText }
        let age = max(ages.reduce(0) { max($0, $1.count) }, 3)
        let status = max(rows.reduce(0) { max($0, $1.status.word.count) }, 6)
        let longest = rows.reduce(4) { max($0, TerminalText.width($1.title)) }
        let room = columns - idLength - age - status - 6
        let hasReasons = rows.contains { $0.reason != nil }
        let isWide = !hasReasons || room >= minTitle + 2 + minReason
        let wanted = min(longest, maxTitle)
        let title = isWide && hasReasons ? min(wanted, max(room - 2 - minReason, minTitle)) : min(longest, max(room, 0))
        func line(_ id: String, _ ageText: String, _ name: String, _ statusText: String, _ reason: String) -> String {
            let line =
                "\(id)  \(TerminalText.fit(ageText, width: age, alignRight: true))  "
                + "\(fitEnd(name, width: title))  \(TerminalText.fit(statusText, width: status))  \(reason)"
            return TerminalText.cut(trimmed(line), width: columns)
        }
        var lines: [String] = []
        if withHeader {
            let id = TerminalText.fit("ID", width: idLength)
            lines.append(line(id, "AGE", "FILE OR URL", "STATUS", isWide && hasReasons ? "REASON" : ""))
        }
        for (row, ageText) in zip(rows, ages) {
            let id = String(row.id.description.suffix(idLength))
            lines.append(line(id, ageText, row.title, row.status.word, isWide ? row.reason ?? "" : ""))
            if !isWide, let reason = row.reason { lines.append(TerminalText.cut("  \(reason)", width: columns)) }
        }
        return lines
    }

    /// The shortest ends that differ from each other.
    private static func idLength(_ rows: [Row]) -> Int {
        let texts = rows.map { $0.id.description.suffix(idLengths.upperBound) }
        return idLengths.first { length in Set(texts.map { $0.suffix(length) }).count == Set(rows.map(\.id)).count }
            ?? idLengths.upperBound
    }

    /// Cut at the start: the end of a path is the name of the file.
    private static func fitEnd(_ text: String, width limit: Int) -> String {
        let text = TerminalText.cutStart(text, width: limit)
        return text + String(repeating: " ", count: max(limit - TerminalText.width(text), 0))
    }

    private static func trimmed(_ line: String) -> String {
        var line = line
        while line.last == " " { line.removeLast() }
        return line
    }
}
