package import Commands
package import Host

/// The transitions of each shard, by their numbers.
package protocol TransitionStore: ShardedStore {
    /// Transitions of a shard after `seq`, as events, oldest first, and how far they are all that there are.
    func events(shard: Int, after seq: Int64, limit: Int) throws(StoreError) -> EventPage
    /// The number of the last transition that the shard has had, also where it was pruned since; 0 where it has had none.
    /// No transition with this number or a lower one is committed later: a reader that begins behind it misses none.
    func lastTransition(shard: Int) throws(StoreError) -> Int64
    /// ``lastTransition(shard:)`` of every shard, in their order; nil for an unusable one.
    func lastTransitions() throws(StoreError) -> [Int64?]
}

/// Transitions of a shard, and how far the numbers of the shard are settled.
///
/// The numbers of a store may have holes: a transaction that is rolled back never gives its numbers again. A transaction
/// that is still open may have a number below others that are committed.
package struct EventPage: Sendable, Equatable {
    /// In the order of their numbers. Some may have numbers above ``complete``.
    package var events: [StatusEvent]
    /// The page lacks no transition up to this number: a missing number was never given, or its transition was pruned. A
    /// number that is missing above it may belong to a transaction that is still open.
    package var complete: Int64
    /// At most ``complete``. Up to this number, transitions may have been pruned. A number that is missing above it, up to
    /// ``complete``, was never given.
    package var prunedThrough: Int64

    package init(_ events: [StatusEvent], complete: Int64, prunedThrough: Int64) {
        self.events = events
        self.complete = complete
        self.prunedThrough = prunedThrough
    }

    /// A page of a store whose numbers have no holes: every missing number is of a transition that was pruned.
    /// - Parameters:
    ///   - seq: the number behind which the page begins.
    ///   - limit: the number of transitions that were asked for; where it is reached, the shard may have more.
    ///   - newest: the number of the newest transition, read before the page.
    package init(withoutHoles events: [StatusEvent], after seq: Int64, limit: Int, newest: Int64) {
        let last = events.last?.transition.seq
        let complete = events.count < limit ? max(newest, last ?? 0) : last ?? min(seq, newest)
        self.init(events, complete: complete, prunedThrough: complete)
    }
}

/// The calls that only read.
package protocol ReadingStore: TransitionStore {
    /// Nil where there is no such command.
    func command(_ id: CommandID) throws(StoreError) -> Command?
    func payload(_ id: CommandID) throws(StoreError) -> [UInt8]?
    /// The JSON that a successful execution returned; nil where there is none.
    func result(_ id: CommandID) throws(StoreError) -> [UInt8]?
    /// The newest transitions of one command, oldest first. The time of the call grows with their number only.
    /// - Parameters:
    ///   - before: `seq` of a transition of the command; only earlier ones are returned. Nil: from the newest.
    ///   - limit: how many at most.
    func timeline(_ id: CommandID, before seq: Int64?, limit: Int) throws(StoreError) -> [Transition]
    /// Commands in the order of their ids, or in the reverse order. Each shard is read in slices of at most 1,000
    /// rows, each in a transaction that is closed before the next.
    /// - Parameters:
    ///   - after: excluded; nil starts at the first.
    ///   - limit: at most 1,000.
    ///   - until: when to stop looking, and to return what was found; nil: at the limit or at the end.
    func page(
        _ filter: CommandFilter, order: CommandOrder, after: CommandID?, limit: Int, until: MonotonicTime?
    ) throws(StoreError) -> CommandPage
    /// The commands whose ids begin or end with some digits; where there are none, those whose ids contain them.
    /// The newest first, at most `limit`.
    func find(_ part: CommandIDPart, limit: Int) throws(StoreError) -> [Command]
    /// The commands whose unique keys begin with a text, by these keys. They need not hold the key any more.
    /// - Parameter prefix: begins with ``RequestKey/prefix``.
    func commands(ofRequestKeys prefix: String) throws(StoreError) -> [String: CommandID]
    /// The number of commands by status and quality of service. Every write updates stored counts, so that
    /// this read is cheap.
    func counts() throws(StoreError) -> CommandCounts
    /// Nil where there is no such command, or where it is not a flow.
    func flow(_ id: CommandID) throws(StoreError) -> FlowState?
    /// Nil where there is no such command, or where it is not a batch. Members of an unusable shard are not counted.
    func batch(_ id: CommandID) throws(StoreError) -> BatchState?
    /// The nodes of a flow, then its callbacks, in the order of their positions.
    /// - Parameters:
    ///   - after: the position of the last that was read; 0 starts at the first.
    ///   - limit: at most 1,000.
    func flowNodes(_ flow: CommandID, after position: Int64, limit: Int) throws(StoreError) -> [FlowNodeState]
    /// The commands that a command waits for. Nil for a command that waits for no other and is in no flow.
    /// - Parameter limit: of the parents that are returned.
    func dependencies(of id: CommandID, limit: Int) throws(StoreError) -> CommandDependencies?
    /// The place of a command in the queue of its ordering key. Nil for a command that has none, or has ended.
    func orderingKey(of id: CommandID) throws(StoreError) -> OrderingKeyState?
    /// The results of the commands that a command depends on, in the order of their positions, at most `limit`.
    func parentResults(of id: CommandID, after position: Int64, limit: Int) throws(StoreError) -> [ParentResult]
    /// The flows of a shard that have not ended, the newest first, at most `limit`.
    func openFlows(shard: Int, limit: Int) throws(StoreError) -> [FlowState]
    /// The batches that have not ended in a shard, the newest first, at most `limit`. One may have ended in other shards,
    /// or not be whole yet.
    func openBatches(shard: Int, limit: Int) throws(StoreError) -> [CommandID]
    /// The flows, ordering keys and schedules of a shard in brief.
    func relationOverview(shard: Int) throws(StoreError) -> RelationOverview
    /// Counts dependencies, the nodes of flows and the holders of ordering keys anew. SQLite also counts commands.
    /// - Returns: a sentence for each stored number that is wrong; empty where all are right.
    func relationProblems(shard: Int) throws(StoreError) -> [String]

    // MARK: All usable shards

    /// The flows that have not ended, the newest first, at most `limit`.
    func openFlows(limit: Int) throws(StoreError) -> [FlowState]
    /// ``openBatches(shard:limit:)`` of every shard.
    func openBatches(limit: Int) throws(StoreError) -> Set<CommandID>
    /// The sum of ``relationOverview(shard:)``.
    func relationOverview() throws(StoreError) -> RelationOverview
}

extension ReadingStore {
    /// All transitions of one command, oldest first.
    package func timeline(_ id: CommandID) throws(StoreError) -> [Transition] {
        try timeline(id, before: nil, limit: .max)
    }
}

/// One shard after the other, for stores to which a call costs little. The calls of a shard that is unusable are left out.
extension TransitionStore {
    package func lastTransitions() throws(StoreError) -> [Int64?] {
        try mapShards(or: nil) { shard throws(StoreError) -> Int64? in try lastTransition(shard: shard) }
    }
}

extension ReadingStore {
    package func openFlows(limit: Int) throws(StoreError) -> [FlowState] {
        let flows = try mapShards(or: []) { shard throws(StoreError) in try openFlows(shard: shard, limit: limit) }
        return Array(flows.joined().sorted { $0.command.id > $1.command.id }.prefix(limit))
    }

    package func openBatches(limit: Int) throws(StoreError) -> Set<CommandID> {
        Set(
            try mapShards(or: []) { shard throws(StoreError) in try openBatches(shard: shard, limit: limit) }.joined())
    }

    package func relationOverview() throws(StoreError) -> RelationOverview {
        let shards = try mapShards(or: RelationOverview()) { shard throws(StoreError) in
            try relationOverview(shard: shard)
        }
        return shards.reduce(into: RelationOverview()) { $0.add($1) }
    }
}
