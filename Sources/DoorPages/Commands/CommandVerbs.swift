internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
internal import Host
internal import Queue

/// Verbs for the ticked rows of a list, or for all that its filter admits.
struct CommandVerbs: Sendable {
    /// Ticked rows of one request.
    private static let maxTicked = 1000

    let actions: ActionRuns

    @Sendable func act(_ visit: Visit, _ form: FormFields) async throws -> Response {
        guard let verb = verb(form) else {
            throw Problem(.badRequest, "invalid-form", "The form names no verb; use a button of the page.")
        }
        if form["scope"] == "all" {
            let query = try CommandsQuery(form.filter, isForm: true)
            guard let asked = form["asked"].flatMap({ Timestamp(rfc3339: $0) }) else {
                return try await BulkQuestion(visit: visit, query: query, verb: verb, back: form["back"]).response
            }
            let id = try await actions.start(
                BulkAction(verb, of: query.filter(asked: asked)), by: visit.request.actor)
            return PageFields.seeOther(visit.url(PageLink("actions", id.description)))
        }
        let ids = form.all("id").prefix(Self.maxTicked).compactMap { CommandID($0) }
        guard !ids.isEmpty else {
            return visit.done(
                "Tick a row first, or choose “all that match”.", isProblem: true, back: form["back"], or: .commands)
        }
        var refusals: [String] = []
        var changed = 0
        for id in ids {
            do {
                try await visit.services.change(id, verb, by: visit.request.actor)
                changed += 1
            } catch let error as SluiceError {
                refusals.append(error.message)
            }
        }
        let first = refusals.first.map { "; \(refusals.count) not: \($0)" } ?? ""
        return visit.done(
            "\(verb.past): \(Figures.grouped(Int64(changed))) command\(changed == 1 ? "" : "s")\(first).",
            isProblem: changed == 0, back: form["back"], or: .commands)
    }

    private func verb(_ form: FormFields) -> BulkAction.Verb? {
        switch form["verb"] {
        case "retry": .retry
        case "cancel": .cancel
        case "requalify": form["qos"].flatMap(QualityOfService.init(name:)).map { .requalify($0) }
        default: nil
        }
    }
}

extension BulkAction.Verb {
    var past: String {
        switch self {
        case .cancel: "Cancelled"
        case .retry: "To be tried again"
        case .requalify(let qos): "Requalified as \(qos)"
        case .resolve(let status): "Resolved as \(status.word)"
        }
    }
}

extension PageServices {
    /// Changes one command.
    /// - Throws: ``SluiceError``
    func change(_ id: CommandID, _ verb: BulkAction.Verb, by actor: String) async throws {
        let client = context.client
        switch verb {
        case .cancel: try await client.cancel(id, reason: "cancelled by \(actor)")
        case .retry: try await client.retry(id, by: actor)
        case .requalify(let qos): try await client.requalify(id, to: qos)
        case .resolve(let status): try await client.resolve(id, as: status, by: actor)
        }
    }
}

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
