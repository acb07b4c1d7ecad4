internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
internal import Host
internal import Queue

extension API {
    var commandEndpoints: [Endpoint] {
        [
            endpoint("/commands", (.get, [.read], listCommands), (.post, [.submit], submitCommand)),
            endpoint("/commands/bulk", (.post, [.submit], submitBulk)),
            endpoint("/commands/{id}", (.get, [.read], showCommand)),
            endpoint("/commands/{id}/timeline", (.get, [.read], showTimeline)),
            endpoint("/commands/{id}/explain", (.get, [.read], explainCommand)),
            endpoint("/commands/{id}/result", (.get, [.read], showResult)),
        ]
    }

    /// How long one page looks for commands where no index finds them.
    private static let pageTime: Duration = .milliseconds(500)

    /// A page may be empty although others follow: the search has used its time.
    @Sendable private func listCommands(_ request: DoorRequest) async throws -> Response {
        let query = try CommandListQuery(request)
        let (bytes, next) =
            query.filter.needsSlot ? try await searches.run { try await page(query) } : try await page(query)
        return JSONReply.response(bytes, fields: JSONReply.next(next, of: request))
    }

    private func page(_ query: CommandListQuery) async throws(Problem) -> (bytes: [UInt8], next: String?) {
        try await read { queue in
            let page = try queue.page(
                query.filter, order: query.order, after: query.after, limit: query.limit, within: Self.pageTime)
            let next = page.next.map { PageCursor(query.order, after: $0).text }
            let body = JSONValue.object([
                .init("commands", .array(page.commands.map(\.json))), .init("next", next.map { .string($0) } ?? .null),
            ])
            return (body.bytes, next)
        }
    }

    @Sendable private func showCommand(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, ["wait"])
        let id = try id(request)
        let wait = try WaitPreference(request)
        let known = request.fields[.ifNoneMatch]
        let found: CommandRepresentation
        if let wait {
            found = try await representation(id, within: wait.time) {
                known == nil ? $0.status.isFinal : !$0.tag.isNamed(by: known)
            }
        } else {
            found = try await representation(id)
        }
        return response(found, to: request, wait)
    }

    /// The newest transitions; each next page has earlier ones.
    @Sendable private func showTimeline(_ request: DoorRequest) async throws -> Response {
        let query = try QueryReader(request, ["limit", "cursor"])
        let limit = try query.limit(default: 1000)
        let cursor = try query.value("cursor", "the cursor of a page before") { Int64($0) }
        let id = try id(request)
        let found = try await read(isUrgent: true) { queue in try queue.timeline(of: id, before: cursor, limit: limit) }
        guard let (page, hasMore) = found else { throw Problem.noCommand(id) }
        let next = hasMore ? page.first.map { "\($0.seq)" } : nil
        return JSONReply.response(
            ["timeline": .array(page.map(\.json)), "next": next.map { .string($0) } ?? .null],
            fields: JSONReply.next(next, of: request))
    }

    @Sendable private func showResult(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let id = try id(request)
        let details = try await details(id)
        guard let result = details.shownResult else {
            throw Problem(
                .notFound, "no-result",
                "Command \(id) is \(details.command.status) and has no result; only a command that has ended may have one."
            )
        }
        return JSONReply.response(result)
    }

    func response(_ found: CommandRepresentation, to request: DoorRequest, _ wait: WaitPreference? = nil) -> Response {
        var fields: HTTPFields = [.eTag: found.tag.text, .cacheControl: "private, no-cache"]
        if let wait, wait.isPreference { fields[.preferenceApplied] = "wait=\(wait.seconds)" }
        if found.tag.isNamed(by: request.fields[.ifNoneMatch]) {
            return Response(status: .notModified, headers: fields)
        }
        return JSONReply.response(found.body, fields: fields)
    }
}

/// How long a request waits for a change: `?wait=10`, or `Prefer: wait=10` (RFC 7240, section 4.3).
struct WaitPreference: Equatable {
    /// Proxies give up after a minute.
    static let maxSeconds = 30

    /// 1 to 30.
    let seconds: Int
    /// The field asked for it, and the response says so.
    let isPreference: Bool

    var time: Duration { .seconds(seconds) }

    /// - Returns: nil where the request does not wait.
    /// - Throws: 400 for a parameter of another form. A field of another form is ignored, as RFC 7240 wants it.
    init?(_ request: DoorRequest) throws(Problem) {
        if let text = request.query["wait"] {
            guard let seconds = Int(text), seconds >= 0 else {
                throw QueryReader.problem(
                    "“wait” is “\(text.excerpt)” and must be seconds, from 0 to \(Self.maxSeconds).")
            }
            guard seconds > 0 else { return nil }
            self.seconds = min(seconds, Self.maxSeconds)
            isPreference = false
            return
        }
        let preferences = request.fields[.prefer]?.split(whereSeparator: { ",; ".contains($0) }) ?? []
        guard let text = preferences.first(where: { $0.lowercased().hasPrefix("wait=") }),
            let seconds = Int(text.dropFirst(5)), seconds > 0
        else { return nil }
        self.seconds = min(seconds, Self.maxSeconds)
        isPreference = true
    }
}
