internal import Commands
internal import Console
internal import NetworkControl

/// Writes the parts of a snapshot as JSON. Pure.
///
/// Lists are cut, so that all parts have about 10 kB: a list is `{"count": 1204, "shown": […]}`.
struct ViewContents {
    private static let budgets: [ViewPart: Int] = [
        .running: 2600, .links: 2000, .uploads: 1600, .problems: 1200, .workers: 1000, .pauses: 400, .warnings: 400,
    ]
    private static let maxName = 100
    private static let maxReason = 160

    let snapshot: LiveSnapshot
    /// The newest progress of a command; nil where no event told it.
    let progress: (CommandID) -> CommandProgress?

    func bytes(of part: ViewPart) -> [UInt8] {
        switch part {
        case .asOf: JSONValue.string(snapshot.asOf.description).bytes
        case .coordinator: coordinator.bytes
        case .counts: counts.bytes
        case .rates: rates.bytes
        case .interval: interval.bytes
        case .running: running
        case .links: links
        case .uploads: list(part, snapshot.uploads.count, snapshot.uploads.map(upload))
        case .problems: list(part, snapshot.problems.count, snapshot.problems.map(problem))
        case .workers: list(part, snapshot.workers.count, snapshot.workers.map(worker))
        case .relations: relations.bytes
        case .pauses: list(part, snapshot.pauses.count, snapshot.pauses.map { text($0, Self.maxReason) })
        case .warnings: list(part, snapshot.warnings.count, snapshot.warnings.map { text($0, Self.maxReason) })
        }
    }

    // MARK: Numbers

    private var coordinator: JSONValue {
        .object([
            .init("hears", .bool(snapshot.hearsCoordinator)),
            .init("pid", snapshot.coordinatorPID.map { .integer(Int64($0)) } ?? .null),
            // While it is heard, `asOf` says the same.
            .init("heardAt", snapshot.hearsCoordinator ? .null : time(snapshot.heardAt)),
        ])
    }

    private var counts: JSONValue {
        .object(CommandStatus.allCases.map { .init($0.name, .integer(Int64(snapshot.counts[$0]))) })
    }

    private var rates: JSONValue {
        guard let rates = snapshot.rates else { return .null }
        return .object([
            .init("succeeded", whole(rates.succeeded)), .init("failed", whole(rates.failed)),
            .init("bytes", whole(rates.bytes)),
        ])
    }

    /// The last interval of the series, which a page adds to those that it has.
    private var interval: JSONValue {
        guard let succeeded = snapshot.succeeded.values.last, let failed = snapshot.failed.values.last else {
            return .null
        }
        return .object([
            .init("end", .string(snapshot.succeeded.end.description)),
            .init("seconds", .integer(snapshot.succeeded.interval.milliseconds / 1000)),
            .init("succeeded", whole(succeeded)), .init("failed", whole(failed)),
        ])
    }

    /// Without names, which the API has: they would change with each new flow.
    private var relations: JSONValue {
        let relations = snapshot.relations
        return .object([
            .init("flows", .integer(Int64(relations.flows.count))),
            .init("orderingKeys", .integer(Int64(relations.keys.keys))),
            .init("waitingForKeys", .integer(Int64(relations.keys.waiting))),
            .init("schedules", .integer(Int64(relations.schedules.count))),
            .init("nextSchedule", time(relations.schedules.next?.at)),
        ])
    }

    // MARK: Lists

    private var running: [UInt8] {
        let commands = snapshot.running
        return list(
            .running, commands.count,
            commands.lazy.map { command in
                let progress = progress(command.id) ?? command.progress
                return .object([
                    .init("id", .string(command.id.description)), .init("type", .string(command.type)),
                    .init("name", command.name.map { text($0, Self.maxName) } ?? .null),
                    .init("destination", .string(command.destination.text)),
                    .init("qos", .string(command.qos.name)), .init("since", time(command.since)),
                    .init("offset", .integer(progress.offset)),
                    .init("total", .integer(max(progress.total, command.progress.total))),
                    .init("rate", .integer(progress.rate)), .init("verifying", .bool(progress.isVerifying)),
                ])
            })
    }

    private var links: [UInt8] {
        list(
            .links, snapshot.links.count,
            snapshot.links.shown.lazy.map { link in
                .object([
                    .init("destination", .string(link.destination)),
                    .init("direction", .string(link.direction.rawValue)), .init("level", .string(link.level.name)),
                    .init("since", time(link.since)), .init("rate", .integer(link.currentRate)),
                    .init("limit", link.limit.map { .integer($0) } ?? .null),
                    .init("inFlight", link.inFlight.map { .integer($0) } ?? .null),
                    .init("highInFlight", link.highInFlight.map { .integer($0) } ?? .null),
                    .init("forced", .bool(link.isForced)),
                    .init("maxRate", link.maxRate.map { .integer($0) } ?? .null),
                    .init("circuitBreaker", .bool(link.circuitBreaker != nil)),
                ])
            })
    }

    private func upload(_ upload: Upload) -> JSONValue {
        .object([
            .init("id", .string(upload.id.description)),
            .init("name", upload.facts.fileName.map { text($0, Self.maxName) } ?? .null),
            .init("route", upload.facts.route.map { text($0, Self.maxName) } ?? .null),
            .init("offset", .integer(upload.offset)),
            .init("length", upload.length.map { .integer($0) } ?? .null), .init("updatedAt", time(upload.updatedAt)),
        ])
    }

    private func problem(_ problem: WatchState.Problem) -> JSONValue {
        .object([
            .init("at", .string(problem.at)), .init("id", .string(problem.id)),
            .init("status", .string(problem.status)),
            .init("reason", text(problem.reason, Self.maxReason)), .init("count", .integer(Int64(problem.count))),
        ])
    }

    private func worker(_ worker: WorkerReading) -> JSONValue {
        .object([
            .init("seat", .integer(Int64(worker.seat))), .init("pid", .integer(Int64(worker.pid))),
            .init("state", .string(worker.state.rawValue)),
            .init("concurrency", worker.concurrency.map { .integer(Int64($0)) } ?? .null),
            .init("inFlight", .integer(Int64(worker.inFlight))),
        ])
    }

    private func list(_ part: ViewPart, _ count: Int, _ elements: some Sequence<JSONValue>) -> [UInt8] {
        let budget = Self.budgets[part] ?? 1000
        var writer = JSONWriter(capacity: budget)
        writer.beginObject()
        writer.member("count", count)
        writer.name("shown")
        writer.beginArray()
        for element in elements {
            let bytes = element.bytes
            guard writer.bytes.count + bytes.count < budget else { break }
            writer.json(bytes)
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    // MARK: Values

    private func time(_ time: Timestamp?) -> JSONValue { time.map { .string($0.description) } ?? .null }

    private func whole(_ value: Double?) -> JSONValue {
        value.map { .integer(Int64(min(max($0.rounded(), 0), 9e18))) } ?? .null
    }

    private func text(_ text: String, _ maxCount: Int) -> JSONValue {
        .string(text.count > maxCount ? text.prefix(maxCount - 1) + "…" : text)
    }
}

/// A member of the state that the stream `view` sends. The raw values are its names.
enum ViewPart: String, Sendable, CaseIterable {
    case asOf, coordinator, counts, rates, interval, running, links, uploads, problems, workers, relations, pauses
    case warnings
}
