internal import Commands
internal import Console
internal import Inspection
internal import Store

/// Prints the pages of a list: JSON lines, a table for other programs, or a table in the width of a terminal.
struct ListPrinter {
    let print: PrintOptions
    let store: SQLiteStore
    let now: Timestamp
    /// The destinations of messages that have not ended.
    private(set) var messages: Set<Destination> = []
    private var isFirst = true

    init(print: PrintOptions, store: SQLiteStore, now: Timestamp) {
        self.print = print
        self.store = store
        self.now = now
    }

    mutating func print(_ page: [Command]) throws {
        guard !page.isEmpty else { return }
        defer { isFirst = false }
        if print.json {
            for command in page { Output.line(try json(command).bytes) }
            return
        }
        messages.formUnion(
            page.lazy.filter { $0.type == CommandType.webhook && !$0.status.isFinal }.map(\.destination))
        let lines = Output.isTerminal ? try rows(page) : table(page)
        for line in lines { Output.line(line) }
        if Output.isTerminal { Output.flush() }
    }

    func finish() { Output.flush() }

    /// The members of a command; for a program that has failed also `stderr`, the part that is kept.
    private func json(_ command: Command) throws -> JSONValue {
        guard command.hasFailedProgram else { return command.json }
        let output = try store.result(command.id).flatMap { ErrorOutput(result: JSONValue(stored: $0)) }
        return .object(command.members + [.init("stderr", output.map { .string($0.text) } ?? .null)])
    }

    private func rows(_ page: [Command]) throws -> [String] {
        let rows = try page.map { command in
            CommandRows.Row(
                id: command.id, age: now - command.createdAt, type: command.type,
                subject: try store.payload(command.id).flatMap { CommandSubject(payload: $0) },
                destination: command.destination, status: command.status, reason: command.reason)
        }
        return CommandRows.lines(rows, columns: Terminal.size.columns, withHeader: isFirst)
    }

    private func table(_ page: [Command]) -> [String] {
        var table = Table([
            ("ID", .left), ("TYPE", .left), ("QOS", .left), ("STATUS", .left), ("PROGRESS", .right),
            ("RETRIES", .right), ("DESTINATION", .left), ("REASON", .left),
        ])
        for command in page {
            table.add([
                command.id.description, command.type, command.qos.name, command.status.name,
                command.total > 0 ? "\(Figures.bytes(command.offset))/\(Figures.bytes(command.total))" : "-",
                "\(command.retries)/\(command.retryLimit)", command.destination.description,
                command.reason ?? "",
            ])
        }
        return isFirst ? table.lines : Array(table.lines.dropFirst())
    }
}
