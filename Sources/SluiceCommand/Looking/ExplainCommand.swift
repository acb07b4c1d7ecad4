internal import ArgumentParser
internal import Commands
internal import HTTPClient
internal import Store

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say why a command is not running.",
        discussion: """
            Names the gate that holds the command back, what it reads, where its threshold is, and what will open it.

            EXAMPLES
              sluice explain 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice list --status new --json | jq -r .id | xargs -n 1 sluice explain
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The command.", valueName: "id"))
    var id: CommandID

    func run() async throws {
        let (directory, store) = try data.store()
        guard let command = try store.command(id) else {
            throw ExitError(.input, "there is no command \(id) in \(data.path)")
        }
        var explainer = WaitExplainer(instance: Instance(directory: directory, store: store))
        if [.new, .error, .queued, .sent].contains(command.status), command.destination != .none {
            explainer.links = try LinkSource(explainer.instance).readings()
        }
        let reasons = try explainer.reasons(of: command)
        let proxy = try await proxy(for: command, directory)
        let now = Timestamp.now
        if print.json {
            let unique: [JSONValue.Member] =
                command.uniqueKey.map { key in
                    [
                        .init("uniqueKey", .string(key)), .init("uniqueFor", .string(command.uniqueFor.description)),
                        .init("holdsUniqueKey", .bool(command.holdsUniqueKey(at: now))),
                    ]
                } ?? []
            Output.line(
                JSONValue.object(
                    [
                        .init("id", .string(id.description)), .init("status", .string(command.status.name)),
                        .init("gates", .array(reasons.map(\.json))),
                        .init("proxy", proxy.map { .string($0) } ?? .null),
                    ] + unique
                ).bytes)
        } else {
            for gate in reasons { Output.line(gate.sentence) }
            if let proxy {
                Output.line(
                    "proxy: requests to \(command.destination) go through \(proxy), as the configuration and this "
                        + "environment say.")
            }
            if let key = command.uniqueKey {
                Output.line(
                    "unique key: “\(key)” is \(command.uniqueKeyHold(at: now)) (--unique-for \(command.uniqueFor)).")
            }
        }
        try data.warn(of: store)
    }

    /// The proxy that a worker would take with this configuration and environment.
    private func proxy(for command: Command, _ directory: DataDirectory) async throws -> String? {
        guard let origin = HTTPOrigin(command.destination) else { return nil }
        return try await ConfigurationFile(data, directory).proxies().proxy(for: origin)?.description
    }
}
