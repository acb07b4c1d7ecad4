internal import ArgumentParser
internal import Commands
internal import Console
internal import Glibc
internal import Queue

/// Changes the commands that a person has named, one by one. Prints a line for each, and tells the coordinator at
/// the end, also after an error and at Ctrl-C.
struct SteeringRun {
    enum Outcome {
        /// In words that follow the id.
        case done(String)
        case refused(String)
    }

    let data: DataOptions
    let print: PrintOptions

    /// - Parameter body: changes one command and says what became of it.
    /// - Throws: ``ExitError``: `input` where a command does not exist, `usage` where a part of an id names
    ///   several, `failed` where a change was refused. The lines have been printed then.
    func change(_ parts: [CommandIDPart], _ body: (Command, QueueAccess) throws -> Outcome) throws {
        let queue = try data.queue()
        try change(parts, queue, body)
    }

    /// Changes the commands of a selection. One that has changed since it was selected is left as it is.
    /// - Parameters:
    ///   - qos: the filter by quality of service.
    ///   - statuses: those that the change is for, where the filters name none.
    ///   - verb: the change, for the question on a terminal: “Cancel”.
    /// - Throws: as ``change(_:_:)``.
    func change(
        _ selection: CommandSelection, qos: QualityOfService? = nil, in statuses: Set<CommandStatus>, verb: String,
        _ body: (Command, QueueAccess) throws -> Outcome
    ) throws {
        let queue = try data.queue()
        guard selection.ids.isEmpty else { return try change(selection.ids, queue, body) }
        let selected = try selection.selected(qos: qos, statuses: statuses, queue, now: queue.now)
        try change(selected, selection.confirmation, queue, verb: verb, body)
    }

    /// Changes commands that were selected in another way.
    /// - Throws: as ``change(_:_:)``.
    func change(
        _ selected: SelectedCommands, _ confirmation: Confirmation, _ queue: QueueAccess, verb: String,
        _ body: (Command, QueueAccess) throws -> Outcome
    ) throws {
        try data.warn(of: queue)
        guard !selected.ids.isEmpty else { return Diagnostics.say("no command matches; nothing was changed") }
        if confirmation.dryRun {
            for id in selected.ids { line(id, "would be changed", isDone: true, isPlain: true) }
            Output.flush()
            return Diagnostics.say("\(selected.text) would be changed")
        }
        try confirmation.confirm(verb, selected)
        let hints = PendingHints(of: queue)
        SignalHandling.exits { hints.send() }
        defer { hints.send() }
        let queue = queue.collecting(hints)
        var (done, refused) = (0, 0)
        for id in selected.ids {
            guard let command = try queue.command(id), selected.statuses.contains(command.status) else { continue }
            switch try body(command, queue) {
            case .done(let text):
                done += 1
                line(id, text, isDone: true)
                if done.isMultiple(of: 100) { hints.send() }
            case .refused(let reason):
                refused += 1
                line(id, reason, isDone: false)
            }
        }
        Output.flush()
        let others = selected.ids.count - done - refused
        Diagnostics.say(
            "changed \(Figures.grouped(Int64(done))) of \(Figures.grouped(Int64(selected.ids.count))) commands"
                + (others > 0 ? "; \(others) had another status by then" : ""))
        if refused > 0 { throw ExitError(.failed, nil) }
    }

    private func change(
        _ parts: [CommandIDPart], _ queue: QueueAccess, _ body: (Command, QueueAccess) throws -> Outcome
    ) throws {
        let hints = PendingHints(of: queue)
        SignalHandling.exits { hints.send() }
        defer { hints.send() }
        let queue = queue.collecting(hints)
        var worst: ExitCode?
        for part in parts {
            let id: CommandID
            do { id = try queue.id(of: part) } catch {
                let error = SluiceError(error)
                guard error.code == .noSuchCommand || error.code == .ambiguous else { throw error }
                worst = error.code == .noSuchCommand ? .input : worst ?? .usage
                line(part, error.message, isDone: false)
                continue
            }
            guard let command = try queue.command(id) else {
                worst = .input
                line(part, "there is no such command in \(data.place)", isDone: false)
                continue
            }
            switch try body(command, queue) {
            case .done(let text): line(id, text, isDone: true)
            case .refused(let reason):
                worst = worst ?? .failed
                line(id, reason, isDone: false)
            }
        }
        if let worst { throw ExitError(worst, nil) }
    }

    /// - Parameter isPlain: without the text, so that another program can read the ids.
    private func line(_ id: some CustomStringConvertible, _ text: String, isDone: Bool, isPlain: Bool = false) {
        if print.json {
            Output.line(
                JSONValue.object([
                    .init("id", .string(id.description)), .init("done", .bool(isDone)), .init("message", .string(text)),
                ]).bytes)
        } else if isDone {
            Output.line(isPlain ? "\(id)" : "\(id) \(text)")
        } else {
            Output.flush()
            Diagnostics.say("\(id) \(text)")
        }
    }
}

/// The commands that a subcommand changes: those that a person names by their ids, or all that filters admit.
struct CommandSelection: ParsableArguments {
    @OptionGroup(title: "Filters, instead of ids")
    var filters: FilterOptions

    @OptionGroup var confirmation: Confirmation

    @Argument(help: ArgumentHelp("The commands, each by its id or any part of it.", valueName: "id"))
    var ids: [CommandIDPart] = []

    /// - Parameter qos: the filter by quality of service.
    func check(qos: QualityOfService? = nil) throws {
        let isFiltered = filters.isGiven || qos != nil
        if ids.isEmpty, !isFiltered {
            throw ValidationError(
                "Name the commands: by their ids, or by filters such as --status gaveUp or --destination URL.")
        }
        if !ids.isEmpty, isFiltered { throw ValidationError("Name the commands by ids or by filters, not by both.") }
        if !ids.isEmpty, confirmation.dryRun { throw ValidationError("--dry-run goes with filters.") }
    }

    /// The commands that the filters admit now, oldest first. Those that are submitted afterwards are not among them.
    /// - Parameters:
    ///   - qos: the filter by quality of service.
    ///   - statuses: those that the change is for, where --status names none.
    func selected(
        qos: QualityOfService?, statuses: Set<CommandStatus>, _ queue: QueueAccess, now: Timestamp
    ) throws -> SelectedCommands {
        var filter = filters.filter(qos: qos, now: now)
        if filters.status.isEmpty {
            filter.statuses = filter.statuses.isEmpty ? statuses : filter.statuses.intersection(statuses)
            // No status at all would admit every one.
            guard !filter.statuses.isEmpty else { return SelectedCommands() }
        }
        // A repeated change of the same commands would never end, so later ones do not belong to it.
        filter.before = min(filter.before ?? now + .milliseconds(1), now + .milliseconds(1))
        return try queue.select(filter)
    }
}

extension SelectedCommands {
    /// `300 commands (280 gave up, 20 error)`
    var text: String {
        let parts = CommandStatus.allCases.compactMap { status in
            counts[status].map { "\(Figures.grouped(Int64($0))) \(status.word)" }
        }
        let noun = ids.count == 1 ? "command" : "commands"
        return "\(Figures.grouped(Int64(ids.count))) \(noun) (\(parts.joined(separator: ", ")))"
    }
}

/// The options of a change of many commands.
struct Confirmation: ParsableArguments {
    @Flag(name: .long, help: "Print the ids of the commands that would be changed, and change none.")
    var dryRun = false

    @Flag(name: [.customShort("y"), .long], help: "Do not ask; without a terminal it never asks.")
    var yes = false

    /// Asks on a terminal.
    /// - Throws: ``ExitError`` `failed` for every answer but yes.
    func confirm(_ verb: String, _ selected: SelectedCommands) throws {
        guard !yes, isatty(StandardInput.descriptor) == 1, Diagnostics.isTerminal else { return }
        Diagnostics.write("\(verb) \(selected.text)? [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard answer == "y" || answer == "yes" else { throw ExitError(.failed, "nothing was changed") }
    }
}
