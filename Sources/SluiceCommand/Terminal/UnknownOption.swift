internal import ArgumentParser
internal import Commands

/// An option that the command does not have, such as a mistyped one.
///
/// The parser names it only where it finds nothing else: before that it names what is missing, and what `validate` refuses. It
/// also suggests options of other words.
enum UnknownOption {
    /// Those of the parser, which no help shows.
    private static let parsers: Set<String> = [
        "--help-hidden", "--generate-completion-script", "--experimental-dump-help",
    ]

    /// Options of other programs, and what this one has for it, where the subcommand has that.
    private static let others: [String: String] = [
        "--items": "--records", "--dir": "--data", "--directory": "--data", "--data-dir": "--data",
        "--configuration": "--config", "--config-file": "--config", "--verbose": "--log-level",
        "--debug": "--log-level",
        "--dest": "--to", "--target": "--to", "--output": "--to", "--out": "--to", "--url": "--to",
        "--priority": "--qos",
        "--quality": "--qos", "--class": "--qos", "--retries": "--retry-limit", "--max-retries": "--retry-limit",
        "--attempts": "--retry-limit", "--delay": "--not-before", "--at": "--not-before", "--start-at": "--not-before",
        "--expires": "--deadline", "--ttl": "--deadline", "--key": "--unique-key", "--dedupe": "--unique-key",
        "--depends-on": "--after", "--since": "--newer-than", "--until": "--older-than", "--force": "--yes",
        "--count": "--limit", "--max": "--limit", "--number": "--limit", "--port": "--listen", "--bind": "--listen",
        "--host": "--listen", "--threads": "--concurrency", "--jobs": "--concurrency", "--timezone": "--zone",
        "--tz": "--zone", "--state": "--status", "--reason": "--error", "--name": "--file", "--only-ids": "--quiet",
        "--ids": "--quiet", "--format": "--json", "--origin": "--destination", "--server": "--destination",
        "--retry-after": "--not-before", "--rate": "--max-rate",
    ]

    /// Arguments of a subcommand for which other programs have an option.
    private static let positional: [String: String] = [
        "--cron": "the cron expression is the second argument, in quotes",
        "--expression": "the cron expression is the second argument, in quotes",
        "--every": "the second argument is “@every 10m”, in quotes", "--id": "ids are arguments",
        "--type": "the type is an argument",
    ]

    /// A sentence about the first; nil where the command has all options, and where there is no such command.
    /// - Parameter arguments: without the name of the program.
    static func sentence(about arguments: [String]) -> String? {
        var command: any ParsableCommand.Type = SluiceTool.self
        var rest = arguments[...]
        while let name = rest.first,
            let subcommand = command.configuration.subcommands.first(where: { $0._commandName == name })
        {
            command = subcommand
            rest = rest.dropFirst()
        }
        if let subcommand = command.configuration.defaultSubcommand { command = subcommand }
        guard command.configuration.subcommands.isEmpty || rest.first?.hasPrefix("-") ?? false else { return nil }
        let options = options(of: command)
        for argument in rest.prefix(while: { $0 != "--" }) where argument.hasPrefix("--") {
            let name = String(argument.prefix { $0 != "=" })
            guard !options.contains(name), !parsers.contains(name) else { continue }
            let near = NearestName.find(
                String(name.dropFirst(2)), among: options.map { String($0.dropFirst(2)) }.sorted())
            if let other = others[name], options.contains(other) {
                return "Unknown option '\(name)'. Did you mean '\(other)'?"
            }
            let isOfSchedules = ["--cron", "--expression", "--every"].contains(name)
            if let argument = positional[name], !isOfSchedules || command == SchedulePutCommand.self {
                return "Unknown option '\(name)'; \(argument)"
            }
            return "Unknown option '\(name)'" + (near.map { ". Did you mean '--\($0)'?" } ?? "")
        }
        return nil
    }

    private static func options(of command: any ParsableCommand.Type) -> Set<String> {
        let help = SluiceTool.helpMessage(for: command, includeHidden: true)
        let words = help.split { !($0.isLetter || $0.isNumber || $0 == "-") }
        return Set(words.filter { $0.hasPrefix("--") }.map(String.init))
    }
}
