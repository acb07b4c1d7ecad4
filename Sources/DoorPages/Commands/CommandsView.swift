internal import Commands
internal import Console
internal import Door

/// The list of commands as a page.
struct CommandsView {
    let visit: Visit
    let query: CommandsQuery
    let page: CommandPage
    /// The names of the commands.
    let rows: [CommandID: String]

    private static let maxReason = 120

    private var url: PageURLs { visit.url }

    var response: Response {
        visit.page("Commands", .commands) {
            tag(.h1, .class("hide")) { "Commands" }
            CommandsFilter(visit: visit, query: query).html
            if let batch = query.batch {
                tag(.p) {
                    "Members of "
                    tag(.a, .href(url(.batch(batch)))) { "batch \(batch.description.suffix(8))" }
                }
            }
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
                        if visit.mayControl { tag(.th) { everyRow } }
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
        let name = rows[command.id]
        let part = "\(command.id.description.suffix(8))"
        return tag(.tr) {
            if visit.mayControl {
                tag(.td) {
                    tag(
                        .input, .the(.type, "checkbox"), .the(.name, "id"), .the(.value, command.id.description),
                        .the(.label, name ?? part))
                }
            }
            tag(.td, .class("st \(command.status.tone)"), .data("g", command.status.glyph)) { command.status.word }
            tag(.td, .class("c-name")) {
                tag(.a, .href(url(.command(command.id)))) {
                    if let name {
                        tag(.bdi) { name }
                        " "
                    }
                    tag(.code) { part }
                }
            }
            tag(.td, .class("c-type")) { command.type }
            cell("c-to", HTML(text: command.destination == .none ? "" : RowParts.destination(command.destination)))
            cell("c-tries", HTML(text: command.retries > 0 ? "\(command.retries)/\(command.retryLimit)" : ""))
            tag(.td, .class("c-age")) { command.createdAt.ageHTML(now: visit.now) }
            cell("c-reason", detail(command))
        }
    }

    private func cell(_ name: String, _ content: HTML) -> HTML {
        tag(.td, content.isEmpty ? nil : .class(name)) { content }
    }

    private func detail(_ command: Command) -> HTML {
        if command.status == .sent, command.total > 0 {
            return RowParts.progress(command.offset, of: command.total, label: "Progress")
        }
        // The page of the command has the whole reason; the list is a budget of bytes.
        return HTML(text: String((command.reason ?? "").prefix(Self.maxReason)))
    }

    private var everyRow: HTML {
        var all = tag(
            .input, .the(.type, "checkbox"), .id("every"), .the(.label, "Tick all rows"), .flag(.script), .flag(.hidden)
        )
        all.append(tag(.noscript) { tag(.span, .class("hide")) { "Tick" } })
        return all
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
                    .data("ask", "Cancel?")
                ) { "Cancel" }
                tag(.label, .class("hide"), .the(.for, "bulk-qos")) { "Quality of service" }
                tag(.select, .the(.name, "qos"), .id("bulk-qos")) {
                    for qos in QualityOfService.allCases {
                        tag(.option, .flag(.selected, qos == .default)) { qos.name }
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
            if !isFull { RowParts.lookedBack(to: next, visit) }
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

/// The form with the filters of the list. It is a GET, so that a filter can be bookmarked.
struct CommandsFilter {
    let visit: Visit
    let query: CommandsQuery

    var html: HTML {
        tag(.details, .class("filters"), .flag(.open, !query.isEmpty)) {
            tag(.summary) { "Filter" }
            form
        }
    }

    private var form: HTML {
        tag(.form, .class("filter"), .action(visit.url(.commands)), .the(.label, "Filter")) {
            choice("status", "Status", query.status?.name, CommandStatus.allCases.map { ($0.name, $0.word) })
            choice("qos", "Quality", query.qos?.name, QualityOfService.allCases.map { ($0.name, $0.name) })
            field("type", "Type", query.type, size: 9)
            field("to", "Destination", query.destination, size: 18)
            field("q", "Text", query.text, size: 18)
            choice("in", "In", query.field.rawValue, [("name", "file or URL"), ("reason", "reason")], any: nil)
            choice("within", "Submitted", query.within, CommandsQuery.periods.map { ($0, "within \($0)") })
            if let batch = query.batch { RowParts.hidden("batch", batch.description) }
            tag(.span, .class("apply")) {
                tag(.button, .the(.type, "submit")) { "Filter" }
                if !query.isEmpty { tag(.a, .href(visit.url(.commands))) { "Clear" } }
            }
        }
    }

    private func choice(
        _ name: String, _ title: String, _ value: String?, _ options: [(value: String, word: String)],
        any: String? = "any"
    ) -> HTML {
        tag(.label) {
            tag(.span) { title }
            tag(.select, .the(.name, name)) {
                if let any { tag(.option, .the(.value, "")) { any } }
                for option in options {
                    tag(
                        .option, option.value == option.word ? nil : .the(.value, option.value),
                        .flag(.selected, option.value == value)
                    ) { option.word }
                }
            }
        }
    }

    private func field(_ name: String, _ title: String, _ value: String?, size: Int) -> HTML {
        tag(.label) {
            tag(.span) { title }
            tag(
                .input, .the(.type, "text"), .the(.name, name), .the(.value, value ?? ""), .the(.size, "\(size)"),
                .the(.maxlength, "\(CommandsQuery.maxText)"), .the(.autocomplete, "off"), .the(.spellcheck, "false"))
        }
    }
}
