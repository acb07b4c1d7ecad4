internal import ArgumentParser
internal import Commands
internal import Console
internal import Door
internal import HTTPClient
internal import Host
internal import NetworkControl
internal import Queue
internal import UploadSpool

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say why a command is not running, or why commands wait.",
        discussion: """
            Prints each reason with its value, its threshold, and the event that ends the wait. Without an id it prints each \
            cause for which commands wait, with their number and the age of the oldest, and what keeps the queue from working: \
            processes that make no progress, locked shards, a disk without room.

            EXAMPLES
              sluice explain
              sluice explain 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice list --status new --limit 0 -q | xargs -n 1 sluice explain
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The command, by its id or any part of it.", valueName: "id"))
    var id: CommandIDPart?

    func run() async throws {
        let queue = try data.queue()
        guard let id else { return try await explainQueue(queue) }
        guard let command = try queue.command(try queue.id(of: id)) else {
            throw ExitError(.input, "there is no command \(id) in \(data.place)")
        }
        let links = try await LinkSource(queue).readings(for: command)
        let progress =
            command.status == .sent && command.destination != .none ? await queue.progress(of: command.id) : nil
        let explainer = WaitExplainer(queue: queue, links: links, progress: progress)
        let explanation = Explanation(
            of: command, reasons: try explainer.reasons(of: command),
            proxy: try await proxy(for: command, queue.directory), errorOutput: try queue.errorOutput(of: command),
            now: queue.now)
        if print.json {
            Output.line(explanation.json.bytes)
        } else {
            for sentence in explanation.sentences { Output.line(sentence) }
        }
        try data.warn(of: queue)
    }

    /// Why commands wait, whichever they are.
    private func explainQueue(_ queue: QueueAccess) async throws {
        let condition = try await QueueCondition.read(data, queue)
        let now = queue.now
        if print.json {
            Output.line(
                JSONValue.object([
                    .init("problems", .array(condition.problems.map { .string($0) })),
                    .init("waiting", .array(condition.causes.map(\.json))),
                ]).bytes)
        } else {
            for problem in condition.problems { Output.line(problem) }
            for cause in condition.causes { Output.line(cause.line(now: now)) }
            if condition.causes.isEmpty, condition.problems.isEmpty { Output.line("no command waits for its turn") }
        }
        try data.warn(of: queue)
    }

    /// The proxy that a worker with this configuration and environment would use.
    private func proxy(for command: Command, _ directory: DataDirectory) async throws -> String? {
        guard let origin = HTTPOrigin(command.destination) else { return nil }
        return try ConfigurationFile(data, directory).proxies().proxy(for: origin)?.description
    }
}

extension QueueCondition {
    /// Reads the links too.
    static func read(_ data: DataOptions, _ queue: QueueAccess) async throws -> QueueCondition {
        let links = try await LinkSource(queue).readings()
        return try QueueCondition(queue, links: links, uploadProblem: await uploadProblem(data, queue))
    }

    /// Why the door refuses uploads of any size, or would refuse them; nil where there is no spool.
    static func uploadProblem(_ data: DataOptions, _ queue: QueueAccess) async -> String? {
        queue.spoolFigures(await uploadLimits(data, queue.directory))?.problem
    }

    /// As the door would read them; the default where the configuration cannot be used.
    static func uploadLimits(_ data: DataOptions, _ directory: DataDirectory) async -> UploadLimits {
        (try? ConfigurationFile(data, directory).door.limits) ?? UploadLimits()
    }
}
