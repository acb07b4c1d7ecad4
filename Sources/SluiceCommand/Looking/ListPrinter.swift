internal import Commands
internal import Console
internal import HTTPClient
internal import Queue

/// Prints the pages of a list: ids, JSON lines, a table for other programs, or a table in the width of a terminal.
struct ListPrinter {
    let print: PrintOptions
    /// Only the ids.
    let isQuiet: Bool
    let queue: QueueAccess
    let now: Timestamp
    /// The destinations of messages that have not ended.
    private(set) var messages: Set<Destination> = []
    private var isFirst = true

    init(print: PrintOptions, isQuiet: Bool, queue: QueueAccess, now: Timestamp) {
        self.print = print
        self.isQuiet = isQuiet
        self.queue = queue
        self.now = now
    }

    mutating func print(_ page: [Command]) throws {
        guard !page.isEmpty else { return }
        defer { isFirst = false }
        if isQuiet {
            for command in page { Output.line(command.id.description) }
            return
        }
        if print.json {
            for command in page { Output.line(try json(command).bytes) }
            return
        }
        messages.formUnion(
            page.lazy.filter { $0.type == CommandType.webhook && !$0.status.isFinal }.map(\.destination))
        let lines = Output.isTerminal ? try rows(page) : try table(page)
        for line in lines { Output.line(line) }
        if Output.isTerminal { Output.flush() }
    }

    func finish() { Output.flush() }

    /// The members of a command, its file and URL; for a program that has failed also `stderr`, the part that is kept.
    private func json(_ command: Command) throws -> JSONValue {
        let subject = try queue.subject(of: command.id)
        let url = subject?.url.map { HTTPHeaderRedaction.shown(url: $0) }
        let members =
            command.members + [
                .init("file", subject?.file.map { .string($0) } ?? .null),
                .init("url", url.map { .string($0) } ?? .null),
            ]
        guard command.hasFailedProgram else { return .object(members) }
        let output = try queue.errorOutput(of: command)
        return .object(members + [.init("stderr", output.map { .string($0.text) } ?? .null)])
    }

    private func rows(_ page: [Command]) throws -> [String] {
        let rows = try page.map { command in
            CommandRows.Row(
                id: command.id, age: now - command.createdAt, type: command.type,
                subject: try queue.subject(of: command.id),
                destination: command.destination, status: command.status, reason: command.reason)
        }
        return CommandRows.lines(rows, columns: Terminal.size.columns, withHeader: isFirst)
    }

    private func table(_ page: [Command]) throws -> [String] {
        var table = Table([
            ("ID", .left), ("TYPE", .left), ("QOS", .left), ("STATUS", .left), ("PROGRESS", .right),
            ("RETRIES", .right), ("DESTINATION", .left), ("FILE OR URL", .left), ("REASON", .left),
        ])
        for command in page {
            let title = try queue.subject(of: command.id).map {
                $0.isURL ? HTTPHeaderRedaction.shown(url: $0.title) : $0.title
            }
            table.add([
                command.id.description, command.type, command.qos.name, command.status.word,
                command.total > 0 ? "\(Figures.bytes(command.offset))/\(Figures.bytes(command.total))" : "-",
                "\(command.retries)/\(command.retryLimit)", command.destination.description,
                title.map(TerminalText.plain) ?? "-", command.reason ?? "",
            ])
        }
        return isFirst ? table.lines : Array(table.lines.dropFirst())
    }
}
