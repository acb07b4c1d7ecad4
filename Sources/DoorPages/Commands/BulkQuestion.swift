internal import Commands
internal import Console
internal import Door
internal import Host
internal import Hummingbird
internal import Queue

/// The question before one verb changes all commands that a filter admits: how many, which filter, and some of them.
struct BulkQuestion {
    private static let shown = 5
    /// More commands are not counted.
    private static let maxCounted = 10_000
    private static let time: Duration = .milliseconds(300)

    let visit: Visit
    let query: CommandsQuery
    let verb: BulkAction.Verb
    /// The page that the question came from.
    let back: String?

    var response: Response {
        get async throws {
            let count = try await count()
            let names = try await visit.services.names(of: count.first)
            return visit.page("\(title)?", .commands, isLive: false) { content(count, names) }
        }
    }

    private var title: String {
        switch verb {
        case .requalify(let qos): "Requalify as \(qos.name)"
        default: "\(verb.name.prefix(1).uppercased())\(verb.name.dropFirst())"
        }
    }

    private func count() async throws(Problem) -> CommandCount {
        let filter = query.filter(asked: visit.now)
        let statuses = BulkAction(verb, of: filter).statuses
        return try await visit.services.read { queue in
            try queue.count(
                filter, in: statuses, limit: Self.maxCounted, shown: Self.shown, within: Self.time)
        }
    }

    @HTMLBuilder
    private func content(_ count: CommandCount, _ names: [CommandID: String]) -> HTML {
        let number = Figures.grouped(Int64(count.changing)) + (count.isComplete ? "" : " or more")
        tag(.section, .class("panel"), .the(.labelledBy, "question")) {
            tag(.h1, .id("question")) {
                "\(title) \(number) command\(count.changing == 1 && count.isComplete ? "" : "s")?"
            }
            tag(.p) {
                query.isEmpty
                    ? "All commands of this data directory."
                    : "All that match "
                        + query.items.filter { $0.name != "before" }.map { "\($0.name) “\($0.value)”" }
                        .joined(separator: ", ") + "."
                if count.others > 0 {
                    " \(Figures.grouped(Int64(count.others))) more have a status that does not allow it; they are skipped."
                }
            }
            if !count.first.isEmpty {
                tag(.ul, .class("rows")) {
                    for command in count.first {
                        tag(.li) {
                            command.status.html
                            tag(.a, .class("grow"), .href(visit.url(.command(command.id)))) {
                                tag(.bdi) { names[command.id] ?? command.type }
                                tag(.code) { " \(command.id.description.suffix(8))" }
                            }
                            tag(.span, .class("dim cut")) { tag(.bdi) { command.reason ?? "" } }
                        }
                    }
                    if count.changing > count.first.count { tag(.li, .class("dim")) { "and the others" } }
                }
            }
            form(canChange: count.changing > 0 || !count.isComplete, number)
        }
    }

    private func form(canChange: Bool, _ number: String) -> HTML {
        tag(.form, .class("acts"), .the(.method, "post"), .action(visit.url(PageLink("commands", "act")))) {
            for item in query.items where item.name != "before" { RowParts.hidden("f-\(item.name)", item.value) }
            RowParts.hidden("scope", "all")
            RowParts.hidden("asked", visit.now.description)
            RowParts.hidden("verb", verb.name)
            if case .requalify(let qos) = verb { RowParts.hidden("qos", qos.name) }
            if canChange {
                tag(.button, .the(.type, "submit"), .class(verb == .cancel ? "danger" : "primary")) {
                    "\(title) \(number)"
                }
            }
            tag(
                .a, .class("button"),
                .href(back.flatMap(OwnPath.init).map { visit.url($0) } ?? visit.url(.commands(query.items)))
            ) {
                "Change nothing"
            }
        }
    }
}
