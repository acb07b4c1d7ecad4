internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import Queue

/// Failures by their cause, the newest first, with the present status of the newest command.
struct OverviewFailures {
    private static let shown = 8

    let visit: Visit
    private let rows: [(group: FailureGroups.Group, command: Command?)]

    init(_ visit: Visit) async throws(Problem) {
        self.visit = visit
        let groups = visit.live.failures.groups.prefix(Self.shown)
        guard !groups.isEmpty else {
            rows = []
            return
        }
        let newest = groups.map(\.newest)
        let commands = try await visit.services.read { queue in try queue.readable(newest) }
        rows = groups.map { ($0, commands[$0.newest]) }
    }

    var html: HTML {
        guard !rows.isEmpty else { return HTML() }
        return tag(.section, .class("panel"), .the(.labelledBy, "failed-title")) {
            tag(.h2, .id("failed-title")) {
                "Failures by cause"
                tag(.a, .class("all"), .href(visit.url(.commands([("status", "error")])))) { "all that wait to retry" }
            }
            tag(.ul, .class("rows")) { for row in rows { item(row.group, row.command) } }
        }
    }

    private func item(_ group: FailureGroups.Group, _ command: Command?) -> HTML {
        tag(.li, .class("failure")) {
            if let command { command.status.html } else { tag(.span, .class("st dim")) { "pruned" } }
            tag(.b, .class("num")) {
                group.count > 1 ? "\(Figures.grouped(Int64(group.count)))\(group.isComplete ? "" : "+") ×" : ""
            }
            tag(.a, .class("grow"), .href(visit.url(.commands(query(group, command))))) {
                tag(.bdi) { group.pattern.isEmpty ? "without a reason" : group.pattern }
            }
            group.at.html(now: visit.now)
            tag(.span, .class("end")) {
                // A group without a text to search for would be every failure.
                if visit.mayControl, !group.search.isEmpty, let command,
                    [.error, .tooManyTimes].contains(command.status)
                {
                    bulk("retry", group, command)
                    if command.status == .error { bulk("cancel", group, command) }
                }
                tag(.a, .href(visit.url(.command(group.newest))), .the(.label, "The newest: \(group.pattern)")) {
                    "newest"
                }
            }
        }
    }

    private func query(_ group: FailureGroups.Group, _ command: Command?) -> [(name: String, value: String)] {
        guard !group.search.isEmpty else { return [("status", "error")] }
        var items = [(name: "q", value: group.search), (name: "in", value: "reason")]
        if let to = command?.destination, to != .none { items.append((name: "to", value: to.text)) }
        return items
    }

    /// Leads to the question whether all commands that have failed so shall change.
    private func bulk(_ verb: String, _ group: FailureGroups.Group, _ command: Command) -> HTML {
        let fields = query(group, command).map { ("f-\($0.name)", $0.value) }
        return RowParts.button(
            group.count > 1 ? "\(verb) all" : verb, visit.url(PageLink("commands", "act")),
            label: "\(verb) all: \(group.pattern)", tone: "quiet",
            fields: fields.filter { $0.0 != "f-status" } + [
                ("f-status", command.status.name), ("scope", "all"), ("verb", verb), ("back", "/"),
            ])
    }
}
