internal import Commands
internal import Console
internal import Door
internal import Hummingbird
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
