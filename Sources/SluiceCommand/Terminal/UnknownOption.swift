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
