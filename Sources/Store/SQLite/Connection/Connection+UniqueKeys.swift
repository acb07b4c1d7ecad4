internal import Commands

extension Connection {
    /// The answer to a draft whose unique key is held; nil where the key is free.
    func existing(
        _ draft: CommandDraft, _ digest: [UInt8]?, at now: Timestamp
    ) throws(StoreError) -> Result<Submission, StoreError>? {
        guard let unique = draft.unique, let holder = try holder(of: unique, at: now) else { return nil }
        let isEqual: Bool
        if let known = holder.digest {
            isEqual = known == digest
        } else {
            isEqual = try isStored(draft, as: holder)
        }
        guard isEqual else { return .failure(holder.conflict(over: unique.key)) }
        return .success(Submission(id: holder.id, isExisting: true))
    }

    /// The command that holds a unique key; nil where the key is free. A command whose period has lapsed
    /// gives the key up here, in the transaction of the insert or retry that takes the key.
    func holder(of unique: UniqueKey, at now: Timestamp) throws(StoreError) -> UniqueKeyHolder? {
        let find = try statement(.byUniqueKey, unique.type, unique.orderingKey, unique.key)
        guard let holder = try find.first(UniqueKeyHolder.init) else { return nil }
        guard holder.hasLapsed(at: now), !isClockHeld else { return holder }
        try statement(.releaseUniqueKey, holder.turn).run()
        return nil
    }

    /// See ``ClockHold``. Called within a transaction of this shard. The first shard has the setting, and is not entered
    /// twice.
    var isClockHeld: Bool {
        guard let clockTrust else { return false }
        guard shard == 0 else { return clockTrust.isHeld() }
        return clockTrust.isHeld { () throws(StoreError) in try clockHold() }
    }

    func clockHold() throws(StoreError) -> ClockHold? {
        try setting(SettingKey.clockHold).flatMap { ClockHold(setting: $0) }
    }

    /// Whether the holder has the payload and the destination of the draft. For a command without a digest,
    /// which release 0.1.0 submitted.
    private func isStored(_ draft: CommandDraft, as holder: UniqueKeyHolder) throws(StoreError) -> Bool {
        guard let row = try find(holder.id), row.command.destination == draft.destination else { return false }
        return try body(.payload, holder.id) == draft.payload
    }
}
