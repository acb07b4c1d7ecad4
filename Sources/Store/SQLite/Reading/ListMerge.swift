internal import Commands

/// Merges the slices of the shards by id. Pure.
struct ListMerge {
    private struct Part {
        var buffer: ArraySlice<Command> = []
        /// Looked at up to this one; nil: nothing yet.
        var through: CommandID?
        var hasMore = true
    }

    enum Step {
        case command(Command)
        /// The next command may be in this shard: read a slice after that id.
        case read(shard: Int, after: CommandID?)
        case end
    }

    private var parts: [Part]
    private let order: CommandOrder

    init(shards: Int, after: CommandID?, order: CommandOrder) {
        parts = Array(repeating: Part(through: after), count: shards)
        self.order = order
    }

    mutating func next() -> Step {
        var best: (shard: Int, id: CommandID)?
        for (shard, part) in parts.enumerated() {
            if let head = part.buffer.first {
                if best.map({ order.precedes(head.id, $0.id) }) ?? true { best = (shard, head.id) }
            }
        }
        // A shard that has not been read so far may have a command before the best one.
        if let behind, best.map({ best in parts[behind].through.map { order.precedes($0, best.id) } ?? true }) ?? true {
            return .read(shard: behind, after: parts[behind].through)
        }
        guard let best, let command = parts[best.shard].buffer.popFirst() else { return .end }
        return .command(command)
    }

    mutating func add(_ slice: ListSlice?, shard: Int) {
        parts[shard].buffer = slice?.commands[...] ?? []
        parts[shard].hasMore = slice?.through != nil
        if let through = slice?.through { parts[shard].through = through }
    }

    /// Every shard has been looked at up to this id; nil where one has not been read at all.
    var frontier: CommandID? { behind.flatMap { parts[$0].through } }

    /// The shard that has been looked at least far, of those whose next command is not known.
    private var behind: Int? {
        var found: Int?
        for (shard, part) in parts.enumerated() where part.buffer.isEmpty && part.hasMore {
            guard let through = part.through else { return shard }
            guard let other = found, let least = parts[other].through else {
                found = shard
                continue
            }
            if order.precedes(through, least) { found = shard }
        }
        return found
    }
}
