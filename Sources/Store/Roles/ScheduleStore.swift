package import Commands

/// The calls on schedules. A schedule lies in the shard of the commands that it submits, so that both change in one
/// transaction.
package protocol ScheduleStore: ShardedStore {
    /// Nil where there is none of that name.
    func schedule(_ name: String) throws(StoreError) -> StoredSchedule?
    /// All, in the order of their names.
    func schedules() throws(StoreError) -> [StoredSchedule]
    /// Changes one schedule in a transaction of its own.
    /// - Parameter body: gets the schedule, nil where there is none of that name, and returns the one to store; nil removes
    ///   it.
    func changeSchedule(
        _ name: String, _ body: (StoredSchedule?) throws(StoreError) -> StoredSchedule?
    ) throws(StoreError)
    /// Submits what is due, and moves the schedules on, in one transaction.
    /// - Parameters:
    ///   - scope: the schedules that are looked at.
    ///   - limit: the maximum number of schedules.
    ///   - decide: gets a schedule, the state of its last command, nil without one, and the time of the store's clock
    ///     at which the schedule was found due. Nil leaves the schedule.
    func fireSchedules(
        shard: Int, _ scope: ScheduleScope, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?
    ) throws(StoreError) -> ScheduleRound
    /// ``fireSchedules(shard:_:limit:_:)`` of several shards; each becomes durable alone.
    /// - Parameter each: gets the round of each shard, as soon as it is durable.
    func fireSchedules(
        _ shards: [Int], _ scope: ScheduleScope, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?,
        each: (Int, Result<ScheduleRound, StoreError>) -> Void
    )
}

extension ScheduleStore {
    package func fireSchedules(
        _ shards: [Int], _ scope: ScheduleScope, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?,
        each: (Int, Result<ScheduleRound, StoreError>) -> Void
    ) {
        for shard in shards {
            each(
                shard, Result { () throws(StoreError) in try fireSchedules(shard: shard, scope, limit: limit, decide) })
        }
    }
}
