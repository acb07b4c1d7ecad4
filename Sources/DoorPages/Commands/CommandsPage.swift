internal import Commands
internal import Console
internal import Door
internal import Host
internal import Hummingbird
internal import Queue

/// The list of commands: filters, the newest first, and verbs for ticked rows or for all that match.
struct CommandsPage: Sendable {
    static let pageSize = 50
    /// The time for a search that no index serves; the page then says how far it has looked.
    static let searchTime: Duration = .milliseconds(250)

    /// A shorter text is looked for in names and reasons: many ids have it.
    private static let minIDPart = 8

    let route: PageRoute
    let actions: ActionRuns

    var endpoints: [Endpoint] {
        [
            route.page("/commands", Self.show),
            route.action("/commands/act", CommandVerbs(actions: actions).act),
        ]
    }

    private static func show(_ visit: Visit) async throws -> Response {
        var query = try CommandsQuery(visit.request.query)
        if query.changed({ $0.text = nil }).isEmpty, let text = query.text, text.utf8.count >= minIDPart,
            let part = CommandIDPart(text),
            let found = try await visit.services.find(part)
        {
            if found.count == 1, let id = found.first?.id { return PageFields.seeOther(visit.url(.command(id))) }
            if !found.isEmpty {
                var page = CommandPage()
                page.commands = found
                let rows = try await visit.services.names(of: found)
                return CommandsView(visit: visit, query: query, page: page, rows: rows).response
            }
        }
        var page = try await visit.services.page(query.filter(now: visit.now), after: query.after)
        // The search box finds reasons where no name has the text.
        if page.commands.isEmpty, page.next == nil, query.text != nil, query.field == .name, query.after == nil {
            let reasons = query.changed { $0.field = .reason }
            let other = try await visit.services.page(reasons.filter(now: visit.now), after: nil)
            if !other.commands.isEmpty || other.next != nil { (query, page) = (reasons, other) }
        }
        let rows = try await visit.services.names(of: page.commands)
        return CommandsView(visit: visit, query: query, page: page, rows: rows).response
    }
}

extension PageServices {
    fileprivate func find(_ part: CommandIDPart) async throws(Problem) -> [Command]? {
        try await read { queue in try queue.find(part, limit: CommandsPage.pageSize) }
    }

    fileprivate func page(_ filter: CommandFilter, after: CommandID?) async throws(Problem) -> CommandPage {
        try await read { queue in
            try queue.page(
                filter, order: .newestFirst, after: after, limit: CommandsPage.pageSize, within: CommandsPage.searchTime
            )
        }
    }

    /// The names of commands in a list.
    func names(of commands: [Command]) async throws(Problem) -> [CommandID: String] {
        try await read { queue in try queue.names(of: commands) }
    }
}
