package import Commands
internal import Host
package import Store

/// A list of commands that is read page by page. It ends with the last command, at its limit, or when its time is over.
package struct CommandWalk {
    private static let maxPage = 1000

    private let queue: QueueAccess
    private let filter: CommandFilter
    private let order: CommandOrder
    private let deadline: MonotonicTime?
    private var left: Int
    private var hasBegun = false
    /// The last command that was looked at, after which another walk goes on; nil: none yet.
    package private(set) var position: CommandID?
    /// The number of commands that were looked at, those that the filter does not admit too.
    package private(set) var scanned = 0
    /// Whether the last command was looked at.
    package private(set) var isComplete = false

    /// - Parameters:
    ///   - after: excluded; nil, the default: from the first on.
    ///   - limit: the maximum number of commands; nil, the default: all.
    ///   - time: how long it may take, looked at after each page; nil, the default: as long as it takes.
    package init(
        _ queue: QueueAccess, _ filter: CommandFilter, order: CommandOrder, after: CommandID? = nil, limit: Int? = nil,
        within time: Duration? = nil
    ) {
        self.queue = queue
        self.filter = filter
        self.order = order
        position = after
        left = limit ?? .max
        deadline = time.map { .now + $0 }
    }

    /// Whether the limit ended it.
    package var isFull: Bool { left == 0 }

    /// Whether its time is over, before the last command and the limit.
    package var isOverdue: Bool { !isComplete && !isFull && deadline.map { MonotonicTime.now >= $0 } ?? false }

    /// The next page.
    /// - Parameter step: how long to look for it; nil, the default: until the time of the walk is over.
    /// - Returns: nil at the end of the walk. A page may be empty although others follow.
    package mutating func next(within step: Duration? = nil) throws(StoreError) -> [Command]? {
        if isComplete || isFull || hasBegun && isOverdue { return nil }
        hasBegun = true
        let page = try queue.store.page(
            filter, order: order, after: position, limit: min(left, Self.maxPage),
            until: step.map { .now + $0 } ?? deadline)
        left -= page.commands.count
        scanned += page.scanned
        if let next = page.next { position = next } else { isComplete = true }
        return page.commands
    }

    /// Whether commands may follow behind the limit.
    package func hasMore() throws(StoreError) -> Bool {
        guard isFull, !isComplete else { return false }
        let rest = try queue.store.page(filter, order: order, after: position, limit: 1, until: deadline)
        return !rest.commands.isEmpty || rest.next != nil
    }
}

/// The commands that a filter admits now, oldest first, for a change of all of them.
package struct SelectedCommands: Sendable {
    package private(set) var ids: [CommandID] = []
    package private(set) var counts: [CommandStatus: Int] = [:]

    package init() {}

    package mutating func add(_ command: Command) {
        ids.append(command.id)
        counts[command.status, default: 0] += 1
    }

    package var statuses: Set<CommandStatus> { Set(counts.keys) }
}

extension QueueAccess {
    /// All commands that a filter admits.
    package func select(
        _ filter: CommandFilter, where isIncluded: (Command) throws -> Bool = { _ in true }
    ) throws -> SelectedCommands {
        var selected = SelectedCommands()
        var walk = CommandWalk(self, filter, order: .oldestFirst)
        while let page = try walk.next() { for command in page where try isIncluded(command) { selected.add(command) } }
        return selected
    }

    /// Counts the commands that a filter admits, for a question before one verb changes them all.
    /// - Parameters:
    ///   - statuses: those that allow the change.
    ///   - limit: more are not counted.
    ///   - shown: how many of them are returned.
    package func count(
        _ filter: CommandFilter, in statuses: Set<CommandStatus>, limit: Int, shown: Int, within time: Duration
    ) throws(StoreError) -> CommandCount {
        var count = CommandCount()
        var walk = CommandWalk(self, filter, order: .newestFirst, within: time)
        while count.changing < limit, let page = try walk.next() {
            for command in page {
                guard statuses.contains(command.status) else {
                    count.others += 1
                    continue
                }
                count.changing += 1
                if count.first.count < shown { count.first.append(command) }
            }
        }
        count.isComplete = walk.isComplete
        return count
    }
}

/// The commands that a change would be for.
package struct CommandCount: Sendable {
    /// The newest of them.
    package var first: [Command] = []
    /// Commands whose status allows the change.
    package var changing = 0
    package var others = 0
    /// False where some were not counted.
    package var isComplete = false
}
