internal import ArgumentParser
internal import Commands
internal import Console
internal import Host
internal import Membership
internal import NetworkControl
internal import Queue
internal import Settings

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
        let queue = try data.queue()
        if let id {
            try show(try queue.id(of: id), queue)
        } else if print.json {
            Output.line(try await overview(queue).bytes)
        } else {
            try await show(queue)
        }
        try data.warn(of: queue)
    }

    /// Causes of waiting that are shown.
    private static let maxCauses = 10

    private func overview(_ queue: QueueAccess) async throws -> JSONValue {
        let counts = try queue.counts()
        let coordinator = queue.coordinator
        let links = try await LinkSource(queue).readings()
        var members: [JSONValue.Member] = [
            .init("counts", .object(CommandStatus.allCases.map { .init($0.name, .integer(Int64(counts[$0]))) })),
            .init("workers", .array(try queue.workers().map(\.json))),
            .init("links", .array(links.map(\.json))),
            .init(
                "coordinator",
                coordinator.map { coordinator in
                    .object([
                        .init("pid", coordinator.pid.map { .integer(Int64($0)) } ?? .null),
                        .init(
                            "stalledSince",
                            queue.stalledCoordinator?.since.map { .string($0.description) } ?? .null),
                        .init(
                            "events",
                            queue.eventsEndpoint(coordinator: coordinator).map { .string($0) } ?? .null),
                    ])
                } ?? .null),
            .init(
                "door",
                try queue.door.map { door in
                    .object([
                        .init("pid", door.pid.map { .integer(Int64($0)) } ?? .null),
                        .init("url", try queue.doorURL().map { .string($0) } ?? .null),
                    ])
                } ?? .null),
            .init("paused", .array(try queue.pauses().map(\.json))),
            .init("clockHold", try queue.clockHold()?.reading(now: .now, wall: queue.now) ?? .null),
        ]
        let condition = try QueueCondition(
            queue, links: links, uploadProblem: await QueueCondition.uploadProblem(data, queue))
        members.append(.init("waiting", .array(condition.causes.map(\.json))))
        members += try queue.relations().members
        members += [
            .init("pausedEndpoints", .array(try queue.pausedEndpoints().map { Self.json($0.endpoint) })),
            .init("backup", queue.backupTime.map { .string($0.description) } ?? .null),
            // Last, because the members above may find one.
            .init(
                "problems",
                .array(
                    (condition.problems + queue.problems.map(\.message)).map { .string($0) })),
        ]
        return .object(members)
    }

    private static func json(_ endpoint: WebhookEndpointSetting) -> JSONValue {
        .object([
            .init("endpoint", .string(endpoint.name)), .init("origin", .string(endpoint.origin.text)),
            .init("cause", .string((endpoint.state.pause?.cause ?? .gone).rawValue)),
            .init(
                "since",
                (endpoint.state.pause?.since ?? endpoint.state.gone.last?.since).map { .string($0.description) }
                    ?? .null),
            .init("gone", .array(endpoint.state.gone.map { .string($0.url) })),
        ])
    }

    private func show(_ queue: QueueAccess) async throws {
        let counts = try queue.counts()
        let coordinator = queue.coordinator
        if queue.opened.name != queue.directory.path { Output.line("store        \(queue.opened.name)") }
        Output.line("data         \(queue.directory.path) (\(queue.shardCount) shards)")
        let pid = coordinator?.pid.map { ", pid \($0)" } ?? ""
        let stalled = queue.stalledCoordinator.map { "\($0.clause); \($0.remedy)" }
        Output.line(
            "coordinator  \(stalled ?? (coordinator != nil ? "running\(pid)" : "not running: start it with “sluice up”"))"
        )
        if let coordinator, let endpoint = queue.eventsEndpoint(coordinator: coordinator) {
            Output.line("events       \(endpoint)")
        }
        if let door = queue.door {
            let facts = [door.pid.map { "pid \($0)" }, try queue.doorURL()].compactMap(\.self)
            let stalled = queue.stalledDoor.map { "\($0.clause); \($0.remedy)" }
            Output.line("door         " + (stalled ?? (["running"] + facts).joined(separator: ", ")))
        }
        if let hold = try queue.clockHold() { Output.line("clock        \(hold.sentence(now: .now))") }
        for pause in try queue.pauses() { Output.line("paused       \(pause.sentence)") }
        for (_, sentence) in try queue.pausedEndpoints() { Output.line("paused       \(sentence)") }
        let overview = try await LinkSource(queue).overview(limit: links.limit)
        let condition = try QueueCondition(
            queue, links: overview.shown, uploadProblem: await QueueCondition.uploadProblem(data, queue))
        for worker in condition.stalled where worker.name.hasPrefix("worker") {
            Output.line("stalled      \(worker.name): \(worker.clause); \(worker.remedy)")
        }
        for sentence in condition.lockedShards { Output.line("locked       \(sentence)") }
        for sentence in condition.fullDisks { Output.line("disk         \(sentence)") }
        Output.line("")
        var table = Table([("STATUS", .left), ("COMMANDS", .right)])
        for status in CommandStatus.allCases { table.add([status.word, Figures.grouped(Int64(counts[status]))]) }
        for line in table.lines { Output.line(line) }

        if !condition.causes.isEmpty { Output.line("") }
        for cause in condition.causes.prefix(Self.maxCauses) { Output.line(cause.line(now: queue.now)) }
        if condition.causes.count > Self.maxCauses {
            Output.line("and \(condition.causes.count - Self.maxCauses) more causes: “sluice explain” prints all")
        }

        let width = Output.isTerminal ? Terminal.size.columns : Int.max
        let relations = RelationText(try queue.relations(), now: queue.now, columns: min(width, 1000)).lines
        if !relations.isEmpty { Output.line("") }
        for line in relations { Output.line(line) }
        let workers = Self.table(try queue.workers())
        if !workers.isEmpty { Output.line("") }
        for line in workers { Output.line(line) }
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
}

/// The status of one command: its fields, its relations and its timeline.
extension StatusCommand {
    func show(_ id: CommandID, _ queue: QueueAccess) throws {
        guard let details = try queue.details(of: id, limit: nil) else {
            throw ExitError(.input, "there is no command \(id) in \(data.place)")
        }
        if print.json { return Output.line(details.json.bytes) }
        for (name, value) in facts(details.command) + Self.relations(details) {
            Output.line(pad(name) + value)
        }
        if let payload = details.shownPayload { Output.line(pad("payload") + payload.text) }
        if let result = details.shownResult { Output.line(pad("result") + result.text) }
        Output.line("")
        var table = Table([("AT", .left), ("STATUS", .left), ("WORKER", .right), ("CLAIM", .right), ("REASON", .left)])
        for transition in details.timeline {
            table.add([
                transition.at.description, transition.status.word, transition.seat.map { "\($0)" } ?? "-",
                "\(transition.claim)", transition.reason ?? "",
            ])
        }
        for line in table.lines { Output.line(line) }
    }

    private static func relations(_ details: CommandDetails) -> [(String, String)] {
        var facts: [(String, String)] = []
        if let place = details.order {
            let state =
                place.ahead.map { $0 == 0 ? "the next" : "\($0) \($0 == 1 ? "waits" : "wait") before it" }
                ?? "held by this command"
            facts.append(("ordering key", "\(place.key); \(state)"))
        }
        if let flow = details.flow {
            let failed = flow.failed > 0 ? ", \(Figures.grouped(Int64(flow.failed))) failed" : ""
            facts.append(
                (
                    "nodes",
                    "\(Figures.grouped(Int64(flow.nodes - flow.open))) of \(Figures.grouped(Int64(flow.nodes))) ended\(failed); "
                        + "“sluice flow \(flow.command.id)” shows them"
                ))
        }
        if let batch = details.batch {
            let failed = batch.failed > 0 ? ", \(Figures.grouped(Int64(batch.failed))) failed" : ""
            let seal = batch.isSealed ? "" : "; it takes more until “sluice batch seal \(batch.command.id)”"
            facts.append(
                (
                    "members",
                    "\(Figures.grouped(Int64(batch.members - batch.open))) of \(Figures.grouped(Int64(batch.members))) ended\(failed)\(seal)"
                ))
        }
        if let waits = details.waits, let id = waits.flow {
            facts.append(("flow", "\(id)\(waits.name.map { ", node “\($0)”" } ?? ", callback")"))
        }
        if let waits = details.waits, waits.open > 0 {
            let names = waits.parents.prefix(5).map { $0.name ?? $0.command.id.description }
            let more = waits.open > names.count ? " and \(waits.open - names.count) more" : ""
            facts.append(("waits for", names.joined(separator: ", ") + more))
        }
        return facts
    }

    private func pad(_ name: String) -> String { name + String(repeating: " ", count: max(13 - name.count, 1)) }

    private func facts(_ command: Command) -> [(String, String)] {
        var facts = [
            ("id", command.id.description), ("type", command.type), ("status", command.status.word),
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
