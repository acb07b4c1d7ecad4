package import Commands
package import Host

extension MemoryStore {
    private func row(_ id: CommandID) -> StoredCommand? { withState { $0.shards[id.shard(of: shardCount)].rows[id] } }

    package func command(_ id: CommandID) -> Command? { row(id)?.command }
    package func payload(_ id: CommandID) -> [UInt8]? { withState { $0.shards[id.shard(of: shardCount)].payloads[id] } }
    package func result(_ id: CommandID) -> [UInt8]? { withState { $0.shards[id.shard(of: shardCount)].results[id] } }

    package func timeline(_ id: CommandID, before bound: Int64?, limit: Int) -> [Transition] {
        let timeline = withState { $0.shards[id.shard(of: shardCount)].transitions.filter { $0.id == id } }
        guard let bound else { return timeline.suffix(limit) }
        guard timeline.contains(where: { $0.seq == bound }) else { return [] }
        return timeline.filter { $0.seq < bound }.suffix(limit)
    }

    package func page(
        _ filter: CommandFilter, order: CommandOrder, after: CommandID?, limit: Int, until: MonotonicTime?
    ) -> CommandPage {
        let (lower, upper) = filter.idBounds
        let found = withState { state in
            state.shards.flatMap { shard in
                shard.rows.values.lazy.map(\.command).filter { command in
                    lower < command.id && command.id < upper && filter.admits(command)
                        && (after.map { order.precedes($0, command.id) } ?? true)
                        && filter.admits(payload: shard.payloads[command.id] ?? [])
                }
            }
        }.sorted { order.precedes($0.id, $1.id) }
        let limit = min(max(limit, 0), 1000)
        var page = CommandPage()
        page.commands = Array(found.prefix(limit))
        page.scanned = found.count
        if page.commands.count == limit { page.next = page.commands.last?.id ?? after }
        return page
    }

    package func commands(ofRequestKeys prefix: String) -> [String: CommandID] {
        let rows = withState { $0.shards.flatMap { $0.rows.values.sorted { $0.command.turn > $1.command.turn } } }
        var found: [String: CommandID] = [:]
        for row in rows { if let key = row.command.uniqueKey, key.hasPrefix(prefix) { found[key] = row.id } }
        return found
    }

    package func find(_ part: CommandIDPart, limit: Int) -> [Command] {
        let commands = withState { state in state.shards.flatMap { $0.rows.values.map(\.command) } }
            .sorted { $0.id > $1.id }
        let digits = commands.map { CommandIDPart($0.id).digits }
        let atEnds = zip(commands, digits).filter { $1.hasPrefix(part.digits) || $1.hasSuffix(part.digits) }
        let found = atEnds.isEmpty ? zip(commands, digits).filter { $1.utf8.contains(part.digits.utf8) } : atEnds
        return found.prefix(limit).map(\.0)
    }

    package func counts() -> CommandCounts {
        withState { state in
            var counts = CommandCounts()
            for shard in state.shards {
                for (status, cells) in shard.counts.cells {
                    for (qos, n) in cells where n != 0 { counts[status, qos] += n }
                }
            }
            return counts
        }
    }
}
