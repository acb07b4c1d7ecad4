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

/// A word in the place of a subcommand that is not one, such as a mistyped one or that of another program.
enum UnknownSubcommand {
    /// Words of other programs, and the subcommand that does it here. `sluice` has no aliases.
    private static let others: [String: String] = [
        "ls": "list", "jobs": "list", "queue": "list", "ps": "status", "show": "status", "info": "status",
        "stat": "status",
        "stats": "status", "top": "watch", "tail": "watch", "follow": "watch", "monitor": "watch", "why": "explain",
        "describe": "explain", "rm": "cancel", "delete": "cancel", "del": "cancel", "kill": "cancel", "abort": "cancel",
        "remove": "cancel", "rerun": "retry", "resubmit": "retry", "requeue": "retry", "redrive": "retry",
        "start": "up", "run": "up", "serve": "up", "server": "door", "http": "door", "upload": "put", "send": "put",
        "push": "put", "cp": "put", "copy": "put", "download": "get", "wget": "get", "curl": "request",
        "post": "request",
        "hook": "webhook", "enqueue": "submit", "add": "submit", "create": "submit", "new": "submit", "shell": "exec",
        "cron": "schedule", "workflow": "flow", "dag": "flow", "stop": "pause", "hold": "pause", "suspend": "pause",
        "unpause": "resume", "continue": "resume", "release": "resume", "priority": "requalify", "nice": "requalify",
        "renice": "requalify", "links": "network", "net": "network", "bandwidth": "network", "ratelimit": "limit",
        "check": "doctor", "fsck": "doctor", "health": "doctor", "repair": "doctor", "clean": "prune", "gc": "prune",
        "vacuum": "prune", "purge": "prune", "dump": "backup", "import": "restore", "configuration": "config",
        "validate": "config", "lint": "config", "log": "watch", "logs": "watch", "version": "--version", "lst": "list",
    ]

    /// - Parameter arguments: without the name of the program.
    /// - Returns: a sentence about the first such word; nil where each is a subcommand, or an argument.
    static func sentence(about arguments: [String]) -> String? {
        var command: any ParsableCommand.Type = SluiceTool.self
        var path: [String] = []
        for name in arguments {
            let subcommands = command.configuration.subcommands
            guard !subcommands.isEmpty, !name.beginsWithBytes(of: "-"), name != "help" else { return nil }
            let names = subcommands.filter { $0.configuration.shouldDisplay }
                .flatMap { [$0._commandName] + $0.configuration.aliases }
            if let next = subcommands.first(where: {
                $0._commandName == name || $0.configuration.aliases.contains(name)
            }) {
                command = next
                path.append(name)
                continue
            }
            let near = NearestName.find(name, among: names)
            // The word may be the argument of the default subcommand, such as an id or a number.
            if command.configuration.defaultSubcommand != nil, near == nil || CommandIDPart(name) != nil { return nil }
            let other =
                path.isEmpty ? others[name.asciiLowercased] : names.contains("list") && name == "ls" ? "list" : nil
            let meant = other ?? near
            let of = path.isEmpty ? "" : " of “sluice \(path.joined(separator: " "))”"
            let choices = path.isEmpty ? "" : "; it has \(names.joined(separator: ", "))"
            return "“\(name)” is not a subcommand\(of)"
                + (meant.map { "; is it “\((["sluice"] + path + [$0]).joined(separator: " "))”?" } ?? choices)
        }
        return nil
    }
}
