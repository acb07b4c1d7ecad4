internal import ArgumentParser
internal import Commands

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
