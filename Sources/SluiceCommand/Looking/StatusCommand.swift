internal import ArgumentParser
internal import Commands
internal import Console
internal import HTTPClient
internal import Host
internal import Inspection
internal import NetworkControl
internal import Operations
internal import Store

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show counts, workers, links, flows and schedules; or one command with its timeline.",
        discussion: """
            It shows the twenty links that matter most and the sum of the others; --all and --json show every link. \
            “sluice network” shows more of each.

            Where there are any, it shows the newest flows that have not ended, the commands that wait for ordering keys, \
            the schedule that fires next, and those that cannot fire. They are counted up to 1000 of each shard; a “+” \
            stands behind a number that is greater. In --json “complete” is false then.

            EXAMPLES
              sluice status
              sluice status --all
              sluice status --json | jq .counts
              sluice status --json | jq '.schedules.held[]?'
              sluice status 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice status 1c2d4e5f    (the end of it, as tables show it)
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var links: LinkOptions

    @Argument(help: ArgumentHelp("A command, by its id or any part of it.", valueName: "id"))
    var id: CommandIDPart?

    func validate() throws {
        if id != nil && links.all { throw ValidationError("--all shows every link; it does not go with a command.") }
    }

    func run() async throws {
        let (directory, store) = try data.store()
        let instance = Instance(directory: directory, store: store)
        if let id {
            try show(try store.id(of: id), store)
        } else if print.json {
            Output.line(try await overview(instance, of: store).bytes)
        } else {
            try await show(instance)
        }
        try data.warn(of: store)
    }

    // MARK: Everything

    private func overview(_ instance: Instance, of store: SQLiteStore) async throws -> JSONValue {
        let counts = try store.counts()
        let coordinator = instance.coordinator
        var members: [JSONValue.Member] = [
            .init("counts", .object(CommandStatus.allCases.map { .init($0.name, .integer(Int64(counts[$0]))) })),
            .init("workers", .array(try instance.workers().map(\.json))),
            .init("links", .array(try await LinkSource(instance).readings().map(\.json))),
            .init(
                "coordinator",
                !coordinator.isHeld
                    ? .null
                    : .object([
                        .init("pid", coordinator.pid.map { .integer(Int64($0)) } ?? .null),
                        .init(
                            "events",
                            instance.eventsEndpoint(coordinator: coordinator).map { .string($0) } ?? .null),
                    ])),
            .init(
                "door",
                !instance.door.isHeld
                    ? .null
                    : .object([
                        .init("pid", instance.door.pid.map { .integer(Int64($0)) } ?? .null),
                        .init("url", try instance.doorURL().map { .string($0) } ?? .null),
                    ])),
            .init("paused", .array(try instance.pauses().map(\.json))),
        ]
        members += try instance.relations().members
        members += [
            .init("pausedEndpoints", .array(try instance.pausedEndpoints().map { Self.json($0.endpoint) })),
            .init("backup", store.backupTime.map { .string($0.description) } ?? .null),
            // Last, because the members above may find one.
            .init("problems", .array((store.problems + store.overloads).map { .string($0.message) })),
        ]
        return .object(members)
    }

    private static func json(_ endpoint: WebhookEndpointSetting) -> JSONValue {
        .object([
            .init("endpoint", .string(endpoint.name)), .init("origin", .string(endpoint.origin.text)),
            .init("cause", endpoint.state.pause.map { .string($0.cause.rawValue) } ?? .null),
            .init("since", endpoint.state.pause.map { .string($0.since.description) } ?? .null),
        ])
    }

    private func show(_ instance: Instance) async throws {
        let counts = try instance.store.counts()
        let coordinator = instance.coordinator
        Output.line("data         \(instance.directory.path) (\(instance.store.shardCount) shards)")
        let pid = coordinator.pid.map { ", pid \($0)" } ?? ""
        Output.line("coordinator  \(coordinator.isHeld ? "running\(pid)" : "not running: start it with “sluice up”")")
        if coordinator.isHeld, let endpoint = instance.eventsEndpoint(coordinator: coordinator) {
            Output.line("events       \(endpoint)")
        }
        let door = instance.door
        if door.isHeld {
            let facts = [door.pid.map { "pid \($0)" }, try instance.doorURL()].compactMap(\.self)
            Output.line("door         " + (["running"] + facts).joined(separator: ", "))
        }
        for pause in try instance.pauses() { Output.line("paused       \(pause.sentence)") }
        for (_, sentence) in try instance.pausedEndpoints() { Output.line("paused       \(sentence)") }
        Output.line("")
        var table = Table([("STATUS", .left), ("COMMANDS", .right)])
        for status in CommandStatus.allCases { table.add([status.name, Figures.grouped(Int64(counts[status]))]) }
        for line in table.lines { Output.line(line) }

        let width = Output.isTerminal ? Terminal.size.columns : Int.max
        let relations = RelationRows(try instance.relations(), now: .now, columns: min(width, 1000)).lines
        if !relations.isEmpty { Output.line("") }
        for line in relations { Output.line(line) }
        let workers = Self.table(try instance.workers())
        if !workers.isEmpty { Output.line("") }
        for line in workers { Output.line(line) }
        let overview = try await LinkSource(instance).overview(limit: links.limit)
        if overview.count > 0 {
            let lines =
                Output.isTerminal
                ? LinkRows.summaries(overview, columns: Terminal.size.columns) : LinkRows.table(overview)
            Output.line("")
            for line in lines { Output.line(line) }
        }
    }

    /// The types of a worker are shown where one of them does not execute all.
    private static func table(_ workers: [WorkerReading]) -> [String] {
        guard !workers.isEmpty else { return [] }
        let showsTypes = workers.contains(where: \.isLimited)
        var table = Table(
            [("WORKER", .right), ("PID", .right), ("STATE", .left), ("IN FLIGHT", .right)]
                + (showsTypes ? [("TYPES", .left)] : []))
        for worker in workers {
            let types = worker.isLimited ? (worker.types ?? []).joined(separator: ", ") : "all"
            table.add(
                ["\(worker.seat)", "\(worker.pid)", worker.state.rawValue, "\(worker.inFlight)"]
                    + (showsTypes ? [types] : []))
        }
        return table.lines
    }

    // MARK: One command

    private func show(_ id: CommandID, _ store: any CommandStore) throws {
        guard let command = try store.command(id) else {
            throw ExitError(.input, "there is no command \(id) in \(data.path)")
        }
        let timeline = try store.timeline(id)
        let place = try store.orderingKey(of: id)
        var details = CommandDetails(command)
        details.timeline = timeline
        details.payload = try store.payload(id).map { HTTPHeaderRedaction.shown(JSONValue(stored: $0)) }
        details.waits = try store.dependencies(of: id, limit: 20)
        details.flow = try store.flow(id)
        details.batch = try store.batch(id)
        details.result = try store.result(id).map { HTTPHeaderRedaction.shown(result: JSONValue(stored: $0)) }
        if print.json { return Output.line(details.json.bytes) }
        for (name, value) in facts(command) + Self.facts(details.waits, details.flow, details.batch, place) {
            Output.line(pad(name) + value)
        }
        if let payload = details.payload { Output.line(pad("payload") + payload.text) }
        if let result = details.result { Output.line(pad("result") + result.text) }
        Output.line("")
        var table = Table([("AT", .left), ("STATUS", .left), ("WORKER", .right), ("CLAIM", .right), ("REASON", .left)])
        for transition in timeline {
            table.add([
                transition.at.description, transition.status.name, transition.seat.map { "\($0)" } ?? "-",
                "\(transition.claim)", transition.reason ?? "",
            ])
        }
        for line in table.lines { Output.line(line) }
    }

    private static func facts(
        _ waits: CommandDependencies?, _ flow: FlowState?, _ batch: BatchState?, _ place: OrderingKeyState?
    ) -> [(String, String)] {
        var facts: [(String, String)] = []
        if let place {
            let state =
                place.ahead.map { $0 == 0 ? "the next" : "\($0) \($0 == 1 ? "waits" : "wait") before it" }
                ?? "held by this command"
            facts.append(("ordering key", "\(place.key); \(state)"))
        }
        if let flow {
            let failed = flow.failed > 0 ? ", \(Figures.grouped(Int64(flow.failed))) failed" : ""
            facts.append(
                (
                    "nodes",
                    "\(Figures.grouped(Int64(flow.nodes - flow.open))) of \(Figures.grouped(Int64(flow.nodes))) ended\(failed); "
                        + "“sluice flow \(flow.command.id)” shows them"
                ))
        }
        if let batch {
            let failed = batch.failed > 0 ? ", \(Figures.grouped(Int64(batch.failed))) failed" : ""
            let seal = batch.isSealed ? "" : "; it takes more until “sluice batch seal \(batch.command.id)”"
            facts.append(
                (
                    "members",
                    "\(Figures.grouped(Int64(batch.members - batch.open))) of \(Figures.grouped(Int64(batch.members))) ended\(failed)\(seal)"
                ))
        }
        if let id = waits?.flow {
            facts.append(("flow", "\(id)\(waits?.name.map { ", node “\($0)”" } ?? ", callback")"))
        }
        if let waits, waits.open > 0 {
            let names = waits.parents.prefix(5).map { $0.name ?? $0.command.id.description }
            let more = waits.open > names.count ? " and \(waits.open - names.count) more" : ""
            facts.append(("waits for", names.joined(separator: ", ") + more))
        }
        return facts
    }

    private func pad(_ name: String) -> String { name + String(repeating: " ", count: max(13 - name.count, 1)) }

    private func facts(_ command: Command) -> [(String, String)] {
        var facts = [
            ("id", command.id.description), ("type", command.type), ("status", command.status.name),
            ("qos", command.qos.name), ("destination", command.destination.description),
            ("idempotent", command.idempotent ? "yes" : "no"),
            ("retries", "\(command.retries) of \(command.retryLimit)"), ("created", command.createdAt.description),
            ("updated", command.updatedAt.description),
        ]
        if command.crashes > 0 { facts.append(("crashes", "\(command.crashes)")) }
        if command.cancelRequested { facts.append(("cancel", "requested")) }
        if command.notBefore > .zero { facts.append(("not before", command.notBefore.description)) }
        if let deadline = command.deadline { facts.append(("deadline", deadline.description)) }
        if let key = command.uniqueKey {
            facts += [("unique key", key), ("unique for", "\(command.uniqueFor); \(command.uniqueKeyHold(at: .now))")]
        }
        if let limit = command.limit { facts.append(("limit", limit)) }
        if command.total > 0 {
            facts.append(("progress", "\(Figures.bytes(command.offset)) of \(Figures.bytes(command.total))"))
        }
        if let seat = command.seat { facts.append(("worker", "\(seat)")) }
        if let reason = command.reason { facts.append(("reason", reason)) }
        return facts
    }
}
