internal import ArgumentParser
internal import BuiltIn
internal import Commands
internal import Console
internal import FlowText
internal import Glibc
internal import Host
internal import Queue

struct FlowSubmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Submit a flow. Prints its UUID when the whole flow is durable.",
        discussion: """
            The document is YAML or JSON:

              name: get-all-quotes
              nodes:
                download: {type: download, payload: {url: https://q.example.com/all.json}}
                sync:     {type: sync, payload: {url: https://q.example.com/all.json, collection: quotes}, after: download}
                notify:   {type: request, payload: {url: https://hooks.example.com/q, method: POST, json: {$result: sync}}}
              then:
                failure:  {type: webhook, payload: {url: https://hooks.example.com/failed, type: failed, data: {$flow: id}}}

            A node has “type”, and may have “payload”, “after” (a node, a list of nodes, or a mapping of nodes to success, \
            failure or end; “page-*” stands for all whose names begin so), “mayFail” (its failure does not fail the flow), \
            “qos”, “idempotent”, “retryLimit”, “notBefore”, “deadline”, “destination” and “limit” (a rate limit). The flow may have “name”, “qos”, \
            “deadline”, “uniqueKey”, “uniqueFor”, “orderingKey”, “keyLimit” and “keyFailure” (flows with one key run one after the other), “onFailure” (stop: the failure of one node cancels the others), \
            “defaults” for the options of nodes, and “then”: commands that run after its success, failure or end.

            A payload may refer to results: {$result: download/path} is a part of the result of a node, which the node then \
            waits for; “default” beside it stands in for a result that is missing. {$results: [a, b]} and {$results: \
            page-*} are lists of results, {$text: [https://h/, {$result: new/json/id}]} joins text, {$literal: …} is taken as \
            it is, and {$flow: id} (or name, status, nodes, failed) is for “then”. An answer of JSON is “json” in the result \
            of a request or fetch. A destination must not depend on a result, unless the node states it as “destination”.

            With --lines each line is JSON: {"flow": {"name": …}} first, then {"node": "a", "type": …, "after": ["b"]}; \
            a line names nodes of earlier lines only.

            EXAMPLES
              sluice flow submit quotes.yaml --wait
              sluice flow submit quotes.yaml --check
              sluice flow submit - --json < quotes.json
              make-nodes | sluice flow submit - --lines
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(
        help: ArgumentHelp("The document; - for standard input.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml", "json", "jsonl"]))
    var file: String

    @Flag(name: .long, help: "The document is JSON lines.")
    var lines = false

    @Flag(name: .long, help: "Check the document, and submit nothing.")
    var check = false

    @Flag(name: .long, help: "Accept types that no worker has ever been able to run.")
    var allowUnknown = false

    @Flag(name: .long, help: "Wait until the flow has ended; exit 1 where it has not succeeded.")
    var wait = false

    func validate() throws {
        if check && wait { throw ValidationError("--check submits nothing that --wait could wait for.") }
    }

    func run() async throws {
        SignalHandling.exits()
        let document = try lines ? FlowFile.lines(file) : FlowFile.document(file)
        let flow = try await document.draft(data, file: FlowFile.name(file))
        if check { return try say(flow) }
        let client = try data.client(BuiltInOperations.registry())
        try Output.require(bytes: 2 * SubmissionPrinter.lineBytes + flow.name.utf8.count)
        let submission = try await client.submitOrFind(flow, allowUnknownTypes: allowUnknown)
        show(submission, flow)
        if wait { try await FlowWaiter(client: client, id: submission.id).run() }
        await client.close()
    }

    private func show(_ submission: Submission, _ flow: FlowDraft) {
        let id = submission.id.description
        if print.json {
            Output.line(
                JSONValue.object([
                    .init("id", .string(id)), .init("existing", .bool(submission.isExisting)),
                    .init("name", .string(flow.name)), .init("nodes", .integer(Int64(flow.nodes.count))),
                ]).bytes)
        } else {
            Output.line(id)
            if submission.isExisting { Diagnostics.say("existing: \(id)") }
        }
        Output.flush()
    }

    private func say(_ flow: FlowDraft) throws {
        do throws(FlowError) { _ = try FlowPlan(flow) } catch {
            throw ExitError(.data, "\(FlowFile.name(file).map { "\($0): " } ?? "")\(error)")
        }
        let roots = flow.nodes.filter(\.after.isEmpty).map(\.name)
        let dependencies = flow.nodes.reduce(0) { $0 + $1.after.count }
        if print.json {
            Output.line(
                JSONValue.object([
                    .init("name", .string(flow.name)), .init("nodes", .integer(Int64(flow.nodes.count))),
                    .init("dependencies", .integer(Int64(dependencies))),
                    .init("callbacks", .integer(Int64(flow.callbacks.count))),
                    .init("first", .array(roots.map { .string($0) })),
                ]).bytes)
            return
        }
        let shown = roots.prefix(5).joined(separator: ", ") + (roots.count > 5 ? " and \(roots.count - 5) more" : "")
        Output.line(
            "\(flow.name): \(Figures.grouped(Int64(flow.nodes.count))) nodes, \(Figures.grouped(Int64(dependencies))) "
                + "dependencies, \(flow.callbacks.count) callbacks; first \(shown.isEmpty ? "none" : shown)")
    }
}

/// `--wait` for a flow: returns when it has ended, and shows on a terminal how many of its nodes have.
///
/// Ctrl-C detaches: the flow continues.
struct FlowWaiter {
    let client: SluiceClient
    let id: CommandID

    /// - Throws: ``ExitError`` `failed` where the flow has not succeeded.
    func run() async throws {
        SignalHandling.exits { [id] in Diagnostics.say("detached; the flow goes on. See “sluice flow \(id)”") }
        let outcome = try await withThrowingTaskGroup(of: CommandOutcome?.self) { group in
            group.addTask { try await client.wait(for: id) }
            group.addTask {
                await draw()
                return nil
            }
            group.addTask {
                await watchCoordinator()
                return nil
            }
            defer { group.cancelAll() }
            while let next = try await group.next() { if let next { return next } }
            throw CancellationError()
        }
        Diagnostics.clearStatus()
        guard !outcome.isSuccess else { return }
        let reason = outcome.reason.map { ": \($0)" } ?? ""
        Diagnostics.say("\(id) \(outcome.status.clause)\(reason). See “sluice flow \(id)”")
        throw ExitError(.failed, nil)
    }

    private func draw() async {
        guard Diagnostics.isTerminal else { return }
        while !Task.isCancelled {
            if let flow = try? await client.flow(id) {
                Diagnostics.showStatus { columns in
                    let failed = flow.failed > 0 ? ", \(Figures.grouped(Int64(flow.failed))) failed" : ""
                    return TerminalText.cut(
                        "\(flow.name): \(Figures.grouped(Int64(flow.nodes - flow.open))) of "
                            + "\(Figures.grouped(Int64(flow.nodes))) ended\(failed)", width: columns)
                }
            }
            try? await Task.sleep(for: .milliseconds(250))
        }
    }

    private func watchCoordinator() async {
        while !Task.isCancelled {
            if client.access.coordinator == nil {
                return Diagnostics.say("nothing is running yet; waiting. Start it with “sluice up”")
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }
}
