package import Commands
internal import Console
internal import Host
package import Store

/// Single commands, and pages of their list.
extension QueueAccess {
    /// Nil where there is no such command.
    package func command(_ id: CommandID) throws(StoreError) -> Command? { try store.command(id) }

    /// As it is stored, with secrets; nil where there is no such command.
    package func payload(_ id: CommandID) throws(StoreError) -> [UInt8]? { try store.payload(id) }

    /// As it is stored, with secrets; nil before the end of the command, and where its operation returned none.
    package func result(_ id: CommandID) throws(StoreError) -> [UInt8]? { try store.result(id) }

    /// The one command that a person names by a part of its id.
    /// - Throws: `notFound`; `ambiguous` with a sentence that lists up to five of the commands; `busy` for a command that was
    ///   submitted by SQL and is still in the inbox.
    package func id(of part: CommandIDPart) throws(StoreError) -> CommandID {
        let id = try store.id(of: part)
        if store.hasInbox, try store.command(id) == nil, try store.isInInbox(id) {
            throw StoreError(
                .busy,
                "The command \(id) was submitted by SQL and is in the inbox of the store, from which a coordinator takes it; "
                    + "start “sluice up”, or try again.", id: id)
        }
        return id
    }

    /// The commands whose ids begin or end with some digits, else those whose ids contain them; the newest first.
    package func find(_ part: CommandIDPart, limit: Int) throws(StoreError) -> [Command] {
        try store.find(part, limit: limit)
    }

    /// A page of the list of commands.
    /// - Parameters:
    ///   - after: excluded; nil: from the first on.
    ///   - limit: at most 1,000.
    ///   - time: for the search where no index has the answer: the page may be empty although others follow. Nil: until the
    ///     page is full.
    package func page(
        _ filter: CommandFilter, order: CommandOrder, after: CommandID? = nil, limit: Int, within time: Duration? = nil
    ) throws(StoreError) -> CommandPage {
        try store.page(filter, order: order, after: after, limit: limit, until: time.map { .now + $0 })
    }

    /// A page of the timeline of a command.
    /// - Parameters:
    ///   - seq: of a transition: those before it. Nil: the newest.
    /// - Returns: at most `limit` transitions, the oldest first, and whether there are earlier ones; nil where there is no
    ///   such command.
    package func timeline(
        of id: CommandID, before seq: Int64?, limit: Int
    ) throws(StoreError) -> (transitions: [Transition], hasMore: Bool)? {
        guard try store.command(id) != nil else { return nil }
        let found = try store.timeline(id, before: seq, limit: limit + 1)
        return (Array(found.suffix(limit)), found.count > limit)
    }

    /// The newest transition of a command as `shard-seq`: the version that a change may depend on.
    package func version(of id: CommandID) throws(StoreError) -> String {
        "\(id.shard(of: store.shardCount))-\(try store.timeline(id, before: nil, limit: 1).last?.seq ?? 0)"
    }

    /// The file and the URL of a command, from its payload.
    package func subject(of id: CommandID) throws(StoreError) -> CommandSubject? {
        try store.payload(id).flatMap { CommandSubject(payload: $0) }
    }

    /// The error output that a failed program has left; nil for any other command.
    package func errorOutput(of command: Command) throws(StoreError) -> ErrorOutput? {
        guard command.hasFailedProgram else { return nil }
        return try store.result(command.id).flatMap { ErrorOutput(result: JSONValue(stored: $0)) }
    }

    /// The number of commands by status and quality of service.
    package func counts() throws(StoreError) -> CommandCounts { try store.counts() }

    /// The types that workers have been able to run.
    package func types() throws(StoreError) -> Set<String> { try store.types() }

    /// The commands of earlier requests, by their unique keys, which begin with a text.
    /// - Parameter prefix: begins with ``RequestKey/prefix``.
    package func commands(ofRequestKeys prefix: String) throws(StoreError) -> [String: CommandID] {
        try store.commands(ofRequestKeys: prefix)
    }

    /// Characters of a name in a list.
    private static let maxName = 80
    /// A larger payload is shown by its id: to parse a megabyte takes as long as the rest of a page.
    private static let maxParsed = 64 << 10
    /// A list spends little time on names, even where each payload has a megabyte.
    private static let nameTime: Duration = .milliseconds(60)

    /// The names of commands, from their payloads; those of flows and batches. Some are missing where there is no time.
    package func names(of commands: [Command]) throws(StoreError) -> [CommandID: String] {
        var names: [CommandID: String] = [:]
        let end = MonotonicTime.now + Self.nameTime
        for command in commands where MonotonicTime.now < end {
            let name: String?
            switch command.type {
            case CommandType.flow: name = try store.flow(command.id)?.name
            case CommandType.batch: name = try store.batch(command.id)?.name
            default:
                let payload = try store.payload(command.id) ?? []
                name = payload.count <= Self.maxParsed ? CommandSubject(payload: payload)?.name : nil
            }
            if let name, !name.isEmpty { names[command.id] = String(name.prefix(Self.maxName)) }
        }
        return names
    }
}
