internal import Commands
internal import Console
internal import Hummingbird

/// The list of commands as a page.
struct CommandsView {
    let visit: Visit
    let query: CommandsQuery
    let page: CommandPage
    let rows: [CommandID: CommandSubject]

    private var url: PageURLs { visit.url }

    var response: Response {
        visit.page("Commands", .commands) {
            tag(.h1, .class("hide")) { "Commands" }
            CommandsFilter(visit: visit, query: query).html
            if page.commands.isEmpty { empty } else { list }
            more
        }
    }

    private var list: HTML {
        tag(.form, .the(.method, "post"), .action(url(PageLink("commands", "act"))), .id("list")) {
            for item in query.items where item.name != "before" { RowParts.hidden("f-\(item.name)", item.value) }
            RowParts.hidden("back", visit.ownPath)
            if visit.mayControl { bulk }
            tag(.table, .class("list")) {
                tag(.thead) {
                    tag(.tr) {
                        if visit.mayControl { tag(.th, .the(.scope, "col")) { tag(.span, .class("hide")) { "Tick" } } }
                        for title in ["Status", "Command", "Type", "Destination", "Tries", "Age", "Reason"] {
                            tag(.th, .the(.scope, "col")) { title }
                        }
                    }
                }
                tag(.tbody) { for command in page.commands { row(command) } }
            }
        }
    }

    private func row(_ command: Command) -> HTML {
        let key = "c\(command.id.description.suffix(8))"
        let name = rows[command.id]?.name
        let label = name ?? command.id.description
        return tag(.tr, .data("row", command.id.description)) {
            if visit.mayControl {
                tag(.td, .class("tick")) {
                    tag(
                        .input, .the(.type, "checkbox"), .the(.name, "id"), .the(.value, command.id.description),
                        .the(.label, "Tick \(label)"))
                }
            }
            tag(.td, .class("c-status"), .live("\(key)-status")) { command.status.html }
            tag(.td, .class("c-name")) {
                tag(
                    .a, .href(url(.command(command.id))),
                    rows[command.id].flatMap { $0.title == $0.name ? nil : .title(String($0.title.suffix(120))) }
                ) {
                    if let name { tag(.bdi) { name } }
                    tag(.code, .class(name == nil ? "" : "dim")) { " \(command.id.description.suffix(8))" }
                }
            }
            tag(.td, .class("c-type dim")) { command.type }
            tag(.td, .class("c-to")) {
                if command.destination != .none { tag(.bdi) { RowParts.destination(command.destination) } }
            }
            tag(.td, .class("num dim c-tries"), .live("\(key)-tries")) {
                command.retries > 0 ? "\(command.retries)/\(command.retryLimit)" : ""
            }
            tag(.td, .class("num dim c-age")) { command.createdAt.ageHTML(now: visit.now) }
            tag(.td, .class("c-reason cut"), .live("\(key)-reason")) { detail(command) }
        }
    }

    private func detail(_ command: Command) -> HTML {
        if command.status == .sent, command.total > 0 {
            return RowParts.progress(
                command.offset, of: command.total, label: "Progress", key: "c\(command.id.description.suffix(8))")
        }
        return command.reason.map { reason in tag(.bdi) { reason } } ?? HTML()
    }

    private var bulk: HTML {
        tag(.div, .class("bulk")) {
            tag(.fieldset) {
                tag(.legend, .class("hide")) { "Change commands" }
                tag(.label) {
                    tag(.input, .the(.type, "radio"), .the(.name, "scope"), .the(.value, "ticked"), .flag(.checked))
                    " ticked"
                }
                tag(.label) {
                    tag(.input, .the(.type, "radio"), .the(.name, "scope"), .the(.value, "all"))
                    query.isEmpty ? " all commands" : " all that match"
                }
                tag(.button, .the(.type, "submit"), .the(.name, "verb"), .the(.value, "retry")) { "Retry" }
                tag(
                    .button, .the(.type, "submit"), .the(.name, "verb"), .the(.value, "cancel"),
                    .data("ask", "Cancel these commands?")
                ) { "Cancel" }
                tag(.label, .class("hide"), .the(.for, "bulk-qos")) { "Quality of service" }
                tag(.select, .the(.name, "qos"), .id("bulk-qos")) {
                    for qos in QualityOfService.allCases {
                        tag(.option, .the(.value, qos.name), .flag(.selected, qos == .default)) { qos.name }
                    }
                }
                tag(.button, .the(.type, "submit"), .the(.name, "verb"), .the(.value, "requalify")) { "Requalify" }
                tag(.a, .class("button new"), .id("new"), .href(url(.commands(query.items))), .flag(.hidden)) { "new" }
            }
        }
    }

    private var empty: HTML {
        tag(.p, .class("empty")) {
            if page.next != nil {
                "No match so far."
            } else if query.isEmpty {
                "There are no commands yet. Submit one with "
                tag(.code) { "sluice put FILE --to URL" }
                ", or upload a file."
            } else {
                "No command matches."
            }
        }
    }

    private var more: HTML {
        guard let next = page.next else { return HTML() }
        let isFull = page.commands.count >= CommandsPage.pageSize
        let older = query.changed { $0.after = next }
        return tag(.p, .class("more")) {
            if !isFull { tag(.span, .class("dim")) { "Looked back to \(next.madeAt). " } }
            tag(.a, .class("button"), .the(.rel, "next"), .href(url(.commands(older.items)))) {
                isFull ? "Older" : "Look further"
            }
            if query.after != nil {
                " "
                tag(.a, .href(url(.commands(query.changed { $0.after = nil }.items)))) { "Newest" }
            }
        }
    }
}
