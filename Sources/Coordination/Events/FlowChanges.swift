package import Commands
package import Host

/// Decides which flows are read for monitors, when, and which of them are published. Pure.
///
/// A transition does not name the flow of its command. So the shards of ends are noted, and the open flows of these shards
/// are read four times a second, while a monitor wants them.
package struct FlowChanges: Sendable {
    /// The part of a flow that is published where it changes.
    private struct Published: Equatable {
        var status: CommandStatus
        var nodes: Int
        var open: Int
        var failed: Int

        init(_ flow: FlowState) {
            (status, nodes, open, failed) = (flow.command.status, flow.nodes, flow.open, flow.failed)
        }
    }

    /// The reads of one round.
    package struct Round: Sendable, Equatable {
        /// Shards whose newest open flows are read.
        package var shards: [Int]
        /// Flows that are read where they are not among these.
        package var flows: [CommandID]
        /// All of them are published, for a new subscriber.
        var isSnapshot: Bool
        /// Those that are published for a new subscriber.
        var snapshots: Set<CommandID>
    }

    /// From one round to the next.
    package static let interval: Duration = .milliseconds(250)
    /// Open flows of a shard, and flows by their ids, that one round reads.
    package static let maxRead = 100
    private static let maxKnown = 1024

    private var shards: Set<Int> = []
    private var waiting: Set<CommandID> = []
    private var known: [CommandID: Published] = [:]
    /// The last of the known flows that was read again by its id.
    private var lastChecked: CommandID?
    private var isSnapshot = false
    private var snapshots: Set<CommandID> = []
    private var isReading = false
    private var next = MonotonicTime.zero

    package init() {}

    // MARK: Changes

    package mutating func add(_ event: StatusEvent) {
        let status = event.transition.status
        guard status.isFinal || status == .blocked else { return }
        shards.insert(event.shard)
        // A short flow may begin and end between two rounds.
        if event.type == CommandType.flow { waiting.insert(event.transition.id) }
    }

    package mutating func addChanges(in shards: some Sequence<Int>) { self.shards.formUnion(shards) }

    /// A monitor has subscribed.
    /// - Parameters:
    ///   - allIn: every shard, where it wants flows that it does not name; else none.
    ///   - flows: those whose own topic it wants.
    package mutating func subscribe(allIn shards: some Sequence<Int>, flows: [CommandID]) {
        for shard in shards {
            self.shards.insert(shard)
            isSnapshot = true
        }
        waiting.formUnion(flows)
        snapshots.formUnion(flows)
    }

    /// Forgets everything: no monitor wants flows.
    package mutating func reset() { self = FlowChanges() }

    // MARK: Rounds

    /// When the next round is due; nil where nothing is to be read.
    package var nextDue: MonotonicTime? { isReading || shards.isEmpty && waiting.isEmpty ? nil : next }

    /// - Parameters:
    ///   - watched: the flows whose own topics are wanted; with `wantsAll` every other is wanted too.
    /// - Returns: nil where nothing is to be read now.
    package mutating func round(
        now: MonotonicTime, shardCount: Int, wantsAll: Bool, watched: Set<CommandID>
    ) -> Round? {
        guard let due = nextDue, now >= due else { return nil }
        for id in watched where shards.contains(id.shard(of: shardCount)) { waiting.insert(id) }
        var ids = Array(waiting.sorted().prefix(Self.maxRead))
        ids += check(Self.maxRead - ids.count, shardCount: shardCount)
        let round = Round(
            shards: wantsAll ? shards.sorted() : [], flows: ids, isSnapshot: isSnapshot,
            snapshots: snapshots.intersection(ids))
        waiting.subtract(ids)
        snapshots.subtract(ids)
        shards = []
        isSnapshot = false
        guard !round.shards.isEmpty || !round.flows.isEmpty else { return nil }
        isReading = true
        return round
    }

    /// Open flows that are not among the newest any more, in turn: they may have changed too.
    private mutating func check(_ count: Int, shardCount: Int) -> [CommandID] {
        guard count > 0 else { return [] }
        let open = known.filter { id, last in
            !last.status.isFinal && shards.contains(id.shard(of: shardCount)) && !waiting.contains(id)
        }.keys.sorted()
        let start = lastChecked.map { last in open.firstIndex { $0 > last } ?? 0 } ?? 0
        let ids = Array((open[start...] + open[..<start]).prefix(count))
        lastChecked = ids.last ?? lastChecked
        return ids
    }

    /// - Parameter found: the flows that were read.
    /// - Returns: those to publish.
    package mutating func take(
        _ found: [FlowState], of round: Round, now: MonotonicTime
    ) -> [(flow: FlowState, isSnapshot: Bool)] {
        isReading = false
        next = now + Self.interval
        var published: [(FlowState, Bool)] = []
        var gone = Set(round.flows)
        for flow in found {
            let id = flow.command.id
            gone.remove(id)
            let isSnapshot = round.isSnapshot && !flow.command.status.isFinal || round.snapshots.contains(id)
            let numbers = Published(flow)
            guard isSnapshot || known[id] != numbers else { continue }
            known[id] = numbers
            published.append((flow, isSnapshot))
        }
        for id in gone { known[id] = nil }
        if known.count > Self.maxKnown { forgetOldest() }
        return published
    }

    /// The read failed: it is tried again.
    package mutating func readFailed(_ round: Round, now: MonotonicTime) {
        isReading = false
        next = now + Self.interval * 4
        shards.formUnion(round.shards)
        waiting.formUnion(round.flows)
        isSnapshot = isSnapshot || round.isSnapshot
        snapshots.formUnion(round.snapshots)
    }

    /// Keeps the open ones, and of these the newest.
    private mutating func forgetOldest() {
        known = known.filter { !$0.value.status.isFinal }
        guard known.count > Self.maxKnown / 2 else { return }
        for id in known.keys.sorted().dropLast(Self.maxKnown / 2) { known[id] = nil }
    }
}
