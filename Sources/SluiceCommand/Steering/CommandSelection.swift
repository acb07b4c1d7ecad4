internal import ArgumentParser
internal import Commands
internal import Console
internal import Glibc
internal import Queue

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
