internal import ArgumentParser
internal import Commands
internal import Console
internal import HTTPClient
internal import Inspection
internal import Store

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say why a command is not running.",
        discussion: """
            Prints each reason with its value, its threshold, and the event that ends the wait.

            EXAMPLES
              sluice explain 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice list --status new --json | jq -r .id | xargs -n 1 sluice explain
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The command, by its id or any part of it.", valueName: "id"))
    var id: CommandIDPart

    func run() async throws {
        let (directory, store) = try data.store()
        guard let command = try store.command(try store.id(of: id)) else {
            throw ExitError(.input, "there is no command \(id) in \(data.path)")
        }
        let instance = Instance(directory: directory, store: store)
        let links = WaitExplainer.needsLinks(command) ? try await LinkSource(instance).readings() : []
        let explanation = Explanation(
            of: command, reasons: try WaitExplainer(instance: instance, links: links).reasons(of: command),
            proxy: try await proxy(for: command, directory), errorOutput: try Self.errorOutput(of: command, store),
            now: .now)
        if print.json {
            Output.line(explanation.json.bytes)
        } else {
            for sentence in explanation.sentences { Output.line(sentence) }
        }
        try data.warn(of: store)
    }

    private static func errorOutput(of command: Command, _ store: SQLiteStore) throws -> ErrorOutput? {
        guard command.hasFailedProgram else { return nil }
        return try store.result(command.id).flatMap { ErrorOutput(result: JSONValue(stored: $0)) }
    }

    /// The proxy that a worker with this configuration and environment would use.
    private func proxy(for command: Command, _ directory: DataDirectory) async throws -> String? {
        guard let origin = HTTPOrigin(command.destination) else { return nil }
        return try await ConfigurationFile(data, directory).proxies().proxy(for: origin)?.description
    }
}
