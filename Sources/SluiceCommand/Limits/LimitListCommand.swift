internal import ArgumentParser
internal import Commands
internal import Console
internal import Store

struct LimitListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the rate limits, and how many ready commands wait for each.",
        discussion: """
            A limit that was removed is listed while ready commands name it.

            EXAMPLES
              sluice limit list
              sluice limit list --json | jq 'select(.waiting > 0)'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() throws {
        let (_, store) = try data.store()
        let limits = try store.rateLimits()
        let waiting = try store.waitingForLimits()
        let names = Set(limits.keys).union(waiting.keys).sorted()
        if print.json {
            for name in names { Output.line(json(name, limits[name], waiting[name] ?? 0).bytes) }
        } else if names.isEmpty {
            Diagnostics.say("no rate limits; “sluice limit set --help” says how to make one")
        } else {
            var table = Table([
                ("NAME", .left), ("STARTS", .right), ("BURST", .right), ("AT ONCE", .right), ("WAITING", .right),
            ])
            for name in names {
                let limit = limits[name]
                table.add([
                    name, limit.map { "\($0.starts)" } ?? "removed",
                    limit.map { "\($0.burst ?? $0.starts.defaultBurst)" } ?? "-",
                    limit?.atOnce.map { "\($0)" } ?? "-", Figures.grouped(Int64(waiting[name] ?? 0)),
                ])
            }
            for line in table.lines { Output.line(line) }
        }
        try data.warn(of: store)
    }

    private func json(_ name: String, _ limit: RateLimit?, _ waiting: Int) -> JSONValue {
        let members =
            limit.map { LimitText.members(name, $0) } ?? [
                .init("name", .string(name)), .init("starts", .null), .init("burst", .null), .init("atOnce", .null),
            ]
        return .object(members + [.init("waiting", .integer(Int64(waiting)))])
    }
}

extension CommandStore {
    /// The ready commands of each rate limit.
    func waitingForLimits() throws(StoreError) -> [String: Int] {
        try mapShards(or: [:]) { shard throws(StoreError) in try readyCounts(shard: shard) }
            .reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
    }
}
