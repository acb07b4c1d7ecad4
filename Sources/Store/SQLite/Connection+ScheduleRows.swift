internal import Commands

extension Connection: ScheduleRows {
    func insert(
        _ draft: CommandDraft, id: CommandID, now: Timestamp
    ) throws(StoreError) -> Result<Submission, StoreError> {
        let pending = SQLiteStore.PendingInsert(index: 0, id: id, digest: draft.digest)
        let results = try insert([draft], [pending], allowUnknownTypes: true, now: now)
        return results.first ?? .failure(StoreError(.failed, "The draft was not processed."))
    }

    func cancel(
        _ row: StoredCommand, shard: Int, reason: String, now: Timestamp
    ) throws(StoreError) -> Effects {
        var row = row
        var effects = Effects()
        switch row.cancel(reason: reason, now: now, &changes) {
        case .cancelled(let transition): effects.events = [row.event(transition, shard: shard)]
        case .requested: if row.command.status.isClaimed { effects.requests = [row.claimed] }
        case .ended: return effects
        }
        try save(row)
        return effects
    }

    func insert(
        _ plan: FlowPlan, ids: [CommandID], now: Timestamp
    ) throws(StoreError) -> Result<FlowSubmission, StoreError> {
        let draft = plan.draft
        return try insert(plan, draft, digest: draft.digest, ids: ids, allowUnknownTypes: true, now: now)
    }
}
