package import Commands
package import Host
internal import NetworkControl
package import Store

/// Ready commands: how they come from the store into memory.
extension Dispatcher {
    /// Ready commands in memory over all destinations, where there are many of these.
    private static let maxInMemory = 65_536

    /// Inserts commands that a hint or the end of an execution told of.
    package mutating func insert(_ commands: [ReadyCommand], now: MonotonicTime) {
        rates.wereReady(commands, now: now)
        for command in commands where inFlight[command.id] == nil && isWanted(command) {
            links.register(command.destination, CommandType.direction(of: command.type), now: now)
            if !lookedUp.isEmpty { lookedUp[command.destination] = nil }
            if let out = queue.insert(command) { backlog.left(out, shard: out.id.shard(of: shardCount)) }
            scheduleProbe(of: command.destination)
        }
    }

    /// These were looked up in the store and are not ready.
    package mutating func notReady(_ ids: [CommandID], now: MonotonicTime) {
        for id in ids {
            admission.failureWaits.forget(id)
            rates.wasClaimed(id, now: now)
        }
    }

    /// These have changed, for instance in their quality of service. The ready ones are inserted again.
    package mutating func changed(_ ids: [CommandID]) {
        for id in ids { queue.remove(id) }
    }

    /// A command is kept in memory only where a worker can run and commit it and it need not wait after a
    /// failure of its link.
    private func isWanted(_ command: ReadyCommand) -> Bool {
        canRun(command.type) && !locked.contains(command.id.shard(of: shardCount))
            && !admission.failureWaits.holds(command.id)
    }

    /// A sweep found ready commands of these keys in a shard. Each key is read from its oldest command, or
    /// from behind the commands that no worker can run.
    package mutating func found(_ keys: Set<ReadyKey>, shard: Int, now: MonotonicTime) {
        guard !locked.contains(shard) else { return }
        let controller = links.controller
        backlog.found(
            keys, shard: shard,
            urgency: { key in
                let link = LinkKey(key.destination, .up)
                if key.destination == .none || controller.isProven(link) { return .first }
                if controller.isFailing(link) { return .last }
                return key.qos.serviceClass == .high ? .first : .second
            }, now: now)
    }

    /// The reads to start now: every destination and quality of service that runs low.
    ///
    /// Memory holds the windows once more, shared by the destinations with ready commands, and at least 256
    /// commands of each while these are few. With 256 alone, workers that ran 12,000 a second stood idle in
    /// every second report, because each answer of the store filled a sixth of their windows.
    package mutating func refills() -> [ReadyRead] {
        guard !seats.isEmpty else { return [] }
        let windows = seats.values.reduce(0) { $0 + $1.window }
        let keys = max(queue.keyCount, 1)
        queue.limit = max(min(max(minLimit, windows / keys), Self.maxInMemory / keys), 4)
        let limit = queue.limit
        var refills: [ReadyRead] = []
        while let key = backlog.takeKey() {
            // It comes up again when the queue has less of it.
            guard queue.count(of: key) <= limit / 2 else { continue }
            refills += backlog.begin(key, limit: limit, counts: queue.counts(of: key))
        }
        return refills
    }

    /// Takes in what a refill brought.
    package mutating func refilled(_ refill: ReadyRead, _ commands: [ReadyCommand], now: MonotonicTime) {
        for direction in Set(commands.map { CommandType.direction(of: $0.type) }) {
            links.register(refill.key.destination, direction, now: now)
        }
        rates.wereReady(commands, now: now)
        var through: Int64?
        var isRefused = false
        var out: [ReadyCommand] = []
        for command in commands {
            if inFlight[command.id] == nil, isWanted(command), let other = queue.insert(command) {
                isRefused = other.id == command.id
                if isRefused { break }
                out.append(other)
            }
            through = command.turn
        }
        scheduleProbe(of: refill.key.destination)
        let unrunnable = commands.prefix { !canRun($0.type) }.count
        backlog.end(
            refill.source,
            BacklogCursors.Reading(
                afterTurn: refill.afterTurn, rows: commands, unrunnable: unrunnable, through: through,
                isRefused: isRefused, isEnd: commands.count < refill.limit),
            now: now)
        for command in out { backlog.left(command, shard: command.id.shard(of: shardCount)) }
    }

    /// The read failed; the sweep will try again.
    package mutating func refillFailed(_ refill: ReadyRead) { backlog.fail(refill.source) }

    /// Memory holds less of the key.
    mutating func lowered(_ key: ReadyKey) { if queue.count(of: key) <= queue.limit / 2 { backlog.lowered(key) } }
}

extension ReadyRead {
    var source: BacklogCursors.Source { BacklogCursors.Source(shard: shard, key: key) }
}
