internal import ArgumentParser
internal import BuiltIn
internal import Commands
internal import Console
internal import Fetch
internal import HTTPClient
internal import Queue

struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Print the stored response to a GET at once, and the fresh one when it arrives.",
        discussion: """
            Responses are kept in the data directory by the rules of HTTP (RFC 9111, RFC 5861): one that its server calls \
            fresh is printed without a request; an older one is printed at once, with its age on standard error, and its \
            server is asked. Where the server cannot be reached, the stored response is the answer, and the request goes on \
            as a command. Users with different credentials never see each other's responses.

            A terminal shows both responses. A pipe gets one: the fresh response, or the stored one where the server cannot \
            be reached. --json prints a line for each, with its stage, age, status and headers. A response that seems to be one \
            page of a longer list has a remark, which names the options of “sluice sync” that read all pages.

            EXAMPLES
              sluice fetch https://api.example.com/quotes
              sluice fetch https://api.example.com/quotes --wait fresh | jq .
              sluice fetch https://api.example.com/quotes --wait stored
              sluice fetch https://api.example.com/quotes --mode network --max-stale 1h --json
            """)

    enum Mode: String, ExpressibleByArgument, CaseIterable {
        case both, reload, stored, network
    }

    enum Wait: String, ExpressibleByArgument, CaseIterable {
        case fresh, stored
    }

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var fields: SubmitFields

    @Argument(help: ArgumentHelp("The URL: http, https or file.", valueName: "url"))
    var url: String

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("A header, as in 'Accept-Language: en'. May be given several times.", valueName: "header"))
    var header: [String] = []

    @Option(
        name: .long,
        help: """
            both: as described above; reload: take only a response that the server has just confirmed; stored: never ask; \
            network: ask first.
            """)
    var mode = Mode.both

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Use no response that has been stale for longer. (default: any while the server cannot be reached)",
            valueName: "time"))
    var maxStale: DurationArgument?

    @Option(
        name: .long,
        help:
            "fresh: print only the fresh response, and exit 75 where it cannot be had now; stored: do not wait for it.")
    var wait: Wait?

    @Option(name: .long, help: ArgumentHelp("Refuse a longer body, as in 64MiB. (default: 16MiB)", valueName: "size"))
    var maxBody: SizeArgument?

    func validate() throws {
        if fields.uniqueKey != nil || fields.uniqueFor != nil {
            throw ValidationError("A fetch has the unique key of its response: leave --unique-key out.")
        }
        if wait == .fresh, mode == .stored {
            throw ValidationError("--mode stored never asks: leave --wait fresh out.")
        }
        _ = try HeaderArgument.members(header)
    }

    func run() async throws {
        SignalHandling.exits()
        let directory = data.directory()
        let operations = try ConfigurationFile(data, directory).uploads()
        let registry = BuiltInOperations.registry(operations)
        let payload = try payload()
        var draft = try CommandDraft(
            type: CommandType.fetch, payload: payload, options: fields.options, registry: registry)
        let store = try ResponseCommand.store(directory)
        let (step, uniqueKey) = try StoredFetch.look(payload, operations.credentials, in: store)
        (draft.uniqueKey, draft.uniqueFor) = (uniqueKey, .running)
        let printer = FetchPrinter(asJSON: print.json)
        switch step {
        case .stored(let stored): try printer.show(stored)
        case .refused(let sentence): throw ExitError(.failed, sentence)
        case .storedThenRefresh where wait == .fresh: try await ask(draft, registry, (nil, nil), printer)
        case .storedThenRefresh(let stored):
            try printer.show(stored)
            draft.qos = fields.qos ?? .utility
            _ = try await submit(draft, registry)
        case .ask(let first, let offline): try await ask(draft, registry, (first, offline), printer)
        }
    }

    private func submit(_ draft: CommandDraft, _ registry: OperationRegistry) async throws -> (SluiceClient, CommandID)
    {
        let client = try data.client(registry)
        let ids = try await SubmissionPrinter(client: client, asJSON: print.json, isQuiet: true)
            .submit([draft], labels: [url])
        guard let id = ids.first else { throw ExitError(.internalError, "\(url) was not submitted") }
        return (client, id)
    }

    private func ask(
        _ draft: CommandDraft, _ registry: OperationRegistry, _ stored: (first: StoredFetch?, offline: StoredFetch?),
        _ printer: FetchPrinter
    ) async throws {
        let first = stored.first
        let showsFirst = wait == .stored || wait == nil && (Output.isTerminal || print.json)
        if let first, showsFirst { try printer.show(first) }
        let (client, id) = try await submit(draft, registry)
        defer { Task { await client.close() } }
        if wait == .stored {
            if first == nil {
                let problem =
                    stored.offline == nil
                    ? "nothing is stored for \(url)"
                    : "the stored response of \(url) may be used only when its server has confirmed it"
                throw ExitError(.failed, "\(problem); \(id) asks for it")
            }
            return
        }
        switch try await FetchWaiter(client: client, data: data, id: id).run() {
        case .ended(let outcome):
            guard outcome.isSuccess else {
                throw ExitError(.failed, "\(id) \(outcome.status.clause)\(outcome.reason.map { ": \($0)" } ?? "")")
            }
            let result = outcome.result.map { JSONValue(stored: $0) } ?? .null
            if wait == .fresh, result["stale"]?.bool == true {
                let why = result["staleBecause"]?.string ?? "stale"
                throw ExitError(
                    .tryAgain,
                    "\(url) has no fresh response now: its server failed, and the stored one is stale (\(why)); "
                        + "leave --wait fresh out to print it")
            }
            try printer.show(outcome, result, isFirstShown: first != nil && showsFirst)
        case .held(let reason):
            let sentence = "\(reason). \(id) goes on; see “sluice explain \(id)”"
            guard let offline = first ?? stored.offline, wait != .fresh else { throw ExitError(.tryAgain, sentence) }
            if first == nil || !showsFirst { try printer.show(offline) }
            Diagnostics.say("this is the stored response: \(sentence)")
        }
    }

    private func payload() throws -> JSONValue {
        var members: [JSONValue.Member] = [.init("url", .string(url))]
        let headers = try HeaderArgument.members(header)
        if !headers.isEmpty { members.append(.init("headers", .object(headers))) }
        if mode != .both { members.append(.init("mode", .string(mode.rawValue))) }
        if let maxStale { members.append(.init("maxStale", .integer(maxStale.duration.components.seconds))) }
        if let maxBody { members.append(.init("maxBody", .integer(maxBody.bytes))) }
        return .object(members)
    }
}

/// Waits for a fetch, but not for a network that is away.
struct FetchWaiter {
    enum End: Sendable {
        case ended(CommandOutcome)
        /// It waits for something that may take long: a sentence.
        case held(String)
    }

    /// The reasons of ``WaitReason`` that may last.
    private static let lasting: Set<String> = [
        "coordinator", "worker", "type", "pause", "link", "linkWait", "circuitBreaker", "notBefore", "backoff",
    ]
    private static let interval: Duration = .milliseconds(500)

    let client: SluiceClient
    let data: DataOptions
    let id: CommandID

    func run() async throws -> End {
        try await withThrowingTaskGroup(of: End.self) { group in
            group.addTask { .ended(try await client.wait(for: id)) }
            group.addTask { .held(try await held()) }
            let end = try await group.next() ?? .held("nothing is known of \(id)")
            group.cancelAll()
            return end
        }
    }

    /// Returns when the command has the same lasting reason twice: a worker that starts, or a link that is
    /// probed, needs no second.
    private func held() async throws -> String {
        let queue = try data.queue()
        var last: String?
        while true {
            try await Task.sleep(for: Self.interval)
            guard let command = try queue.command(id), !command.status.isFinal else {
                last = nil
                continue
            }
            let links = try await LinkSource(queue).readings(for: command)
            let reasons = try WaitExplainer(queue: queue, links: links).reasons(of: command)
            let lasting = reasons.first {
                Self.lasting.contains($0.name) && command.status == .new || $0.name == "backoff"
            }
            if let lasting, lasting.name == last { return lasting.measured }
            last = lasting?.name
        }
    }
}

/// Prints the responses of a fetch: bodies on standard output, their age on standard error.
struct FetchPrinter {
    let asJSON: Bool

    /// A stored response.
    func show(_ stored: StoredFetch) throws {
        let age = stored.age.map { "\($0.shortText) old" } ?? "of unknown age"
        if asJSON {
            line(stored.result, stage: stored.staleBecause == nil ? "stored" : "stale")
        } else {
            try body(of: stored.result)
            Output.flush()
            let stale = stored.staleBecause.map { ", and stale (\($0))" } ?? ""
            Diagnostics.say("stored: the response is \(age)\(stale)")
            remark(stored.result)
        }
        Output.flush()
    }

    /// The end of the command that asked.
    /// - Parameter isFirstShown: the stored response was printed.
    func show(_ outcome: CommandOutcome, _ result: JSONValue, isFirstShown: Bool) throws {
        let source = result["source"]?.string
        let isStale = result["stale"]?.bool == true
        let stage =
            source == "network" ? "fresh" : source == "notModified" ? "notModified" : isStale ? "stale" : "stored"
        if asJSON {
            line(result, stage: stage, id: outcome.id)
        } else if source == "network" || !isFirstShown {
            try body(of: result)
        }
        Output.flush()
        if !asJSON, !isFirstShown { remark(result) }
        if !asJSON, isStale {
            let age = result["age"]?.integer.map { "\(Duration.seconds($0).shortText) old" } ?? "of unknown age"
            let why = result["staleBecause"]?.string ?? ""
            Diagnostics.say("stale: its server brought no fresh response; the stored one is \(age) (\(why))")
        } else if !asJSON, isFirstShown {
            Diagnostics.say(
                source == "network" ? "fresh: this response has just arrived" : "fresh: nothing has changed")
        }
    }

    private func remark(_ result: JSONValue) {
        if let remark = result["remark"]?.string { Diagnostics.say(remark) }
    }

    private func line(_ result: JSONValue, stage: String, id: CommandID? = nil) {
        var members: [JSONValue.Member] = [.init("stage", .string(stage))]
        if let id { members.append(.init("id", .string(id.description))) }
        members.append(.init("result", HTTPHeaderRedaction.shown(result: result)))
        Output.line(JSONValue.object(members).bytes)
    }

    private func body(of result: JSONValue) throws {
        let bytes: [UInt8]
        do { bytes = try StoredFetch.body(of: result) } catch {
            throw ExitError(.tryAgain, "the stored body is gone, because another fetch has replaced it: \(error)")
        }
        Output.append { $0 += bytes }
        if Output.isTerminal, bytes.last != UInt8(ascii: "\n") { Output.line("") }
        if result["bodyTruncated"]?.bool == true {
            Diagnostics.say("the response is longer than 64 KiB and was not stored: this is its start")
        }
    }
}
