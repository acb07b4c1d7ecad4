internal import Commands
internal import Console
internal import Queue

/// The properties of a command, as `sluice status` prints them.
struct CommandFacts {
    let visit: Visit
    let shown: ShownCommand

    private var command: Command { shown.command }

    var html: HTML {
        tag(.section, .class("panel"), .the(.labelledBy, "facts-title")) {
            tag(.h2, .id("facts-title")) { "Command" }
            tag(.dl, .class("facts")) {
                fact("Id") {
                    tag(.code, .id("command-id")) { command.id.description }
                    " "
                    tag(
                        .button, .the(.type, "button"), .class("quiet"), .data("copy", "command-id"),
                        .flag(.script),
                        .flag(.hidden)
                    ) { "copy" }
                }
                fact("Type") { command.type }
                if command.destination != .none {
                    fact("Destination") {
                        tag(.a, .href(visit.url(.commands([("to", command.destination.text)])))) {
                            tag(.bdi) { command.destination.text }
                        }
                    }
                }
                fact("Submitted") { command.createdAt.html(now: visit.now) }
                if command.total > 0 {
                    fact("Bytes") { "\(Figures.bytes(command.offset)) of \(Figures.bytes(command.total))" }
                }
                fact("Idempotent") { command.idempotent ? "yes" : "no" }
                if command.crashes > 0 { fact("Crashes") { "\(command.crashes) of \(Command.crashLimit)" } }
                if let deadline = command.deadline { fact("Deadline") { deadline.html(now: visit.now) } }
                if let key = command.uniqueKey {
                    fact("Unique key") { tag(.bdi) { "\(key), for \(command.uniqueFor)" } }
                }
                if let limit = command.limit {
                    fact("Rate limit") { tag(.a, .href(visit.url(.limit(limit)))) { limit } }
                }
                relations
            }
        }
    }

    private var relations: HTML {
        var all = HTML()
        if let order = shown.details.order {
            let state = order.ahead.map { $0 == 0 ? "the next" : "\($0) before it" } ?? "holds it"
            all.append(fact("Ordering key") { tag(.bdi) { "\(order.key) (\(state))" } })
        }
        if let flow = shown.details.flow {
            all.append(
                fact("Nodes") {
                    tag(.a, .href(visit.url(.flow(command.id)))) {
                        "\(flow.nodes - flow.open) of \(flow.nodes) ended"
                    }
                })
        }
        if let batch = shown.details.batch {
            all.append(
                fact("Members") {
                    tag(.a, .href(visit.url(.batch(command.id)))) {
                        "\(batch.members - batch.open) of \(batch.members) ended, \(batch.failed) failed"
                    }
                })
        }
        if let id = command.batch {
            all.append(fact("Batch") { tag(.a, .href(visit.url(.batch(id)))) { id.description } })
        }
        if let waits = shown.details.waits {
            if let flow = waits.flow {
                all.append(
                    fact(shown.isOfBatch ? "After the batch" : "Flow") {
                        tag(.a, .href(visit.url(shown.isOfBatch ? .batch(flow) : .flow(flow)))) {
                            tag(.bdi) { shown.isOfBatch ? flow.description : waits.name ?? "callback" }
                        }
                    })
            }
            if waits.open > 0 {
                all.append(
                    fact("Waits for") {
                        for (index, parent) in waits.parents.prefix(5).enumerated() {
                            if index > 0 { ", " }
                            tag(.a, .href(visit.url(.command(parent.command.id)))) {
                                tag(.bdi) { parent.name ?? "\(parent.command.id.description.suffix(8))" }
                            }
                        }
                        if waits.open > 5 { " and \(waits.open - 5) more" }
                    })
            }
        }
        return all
    }

    private func fact(_ name: String, @HTMLBuilder _ value: () -> HTML) -> HTML {
        var pair = tag(.dt) { name }
        pair.append(tag(.dd) { value() })
        return pair
    }
}
