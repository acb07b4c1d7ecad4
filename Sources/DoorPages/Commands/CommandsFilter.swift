internal import Commands

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
