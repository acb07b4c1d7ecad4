/// Flows, batches, ordering keys and schedules in brief, at one moment. The numbers of each shard are counted up to ``maxCounted``,
/// so that a reading costs the same in every store.
package struct RelationOverview: Sendable, Equatable {
    /// The rows of a kind that are counted in each shard.
    package static let maxCounted = 1000

    package var flows = FlowOverview()
    /// Its members are in all shards, so that the overview of one shard has none.
    package var batches = BatchOverview()
    package var keys = OrderingKeyOverview()
    package var schedules = ScheduleOverview()

    package init() {}

    package var isEmpty: Bool {
        flows.count == 0 && batches.count == 0 && keys.keys == 0 && schedules.count == 0
    }

    /// Adds the numbers of another shard.
    package mutating func add(_ other: RelationOverview) {
        flows.add(other.flows)
        keys.add(other.keys)
        schedules.add(other.schedules)
    }
}
