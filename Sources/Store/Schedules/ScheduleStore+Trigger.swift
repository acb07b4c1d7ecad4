internal import Commands

extension ScheduleStore {
    /// Submits what a schedule submits now, whatever its times and the commands before it; its next time stays.
    package func fireSchedule(named name: String) throws(StoreError) -> ScheduleRound {
        let shard = router.shard(ofSchedule: name)
        return try fireSchedules(shard: shard, .named(name), limit: 1) { schedule, _, now in
            let state = schedule.state
            var decision = ScheduleDecision(since: state.since, last: state.last)
            decision.fires = [ScheduledTime(nominal: now, notBefore: now)]
            decision.next = state.next
            decision.reason = state.reason
            return decision
        }
    }
}
