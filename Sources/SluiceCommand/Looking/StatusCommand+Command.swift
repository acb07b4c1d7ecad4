internal import Commands
internal import Console
internal import Queue

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
