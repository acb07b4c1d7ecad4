package import Commands
package import Store

/// A store that repeats each call whose outcome is unknown and which can be made again, as its callers do.
package final class RepeatingStore: ForwardingStore {
    package let target: any CommandStore & StoreHealth

    package init(_ target: any CommandStore & StoreHealth) { self.target = target }

    package func apply(
        _ writes: () -> [ExecutionWrite], group: CommitGroup, seat: Int, epoch: Int64, _ attempt: CommitAttempt
    ) throws(StoreError) -> CommitOutcome {
        var taken: [ExecutionWrite]?
        func take() -> [ExecutionWrite] {
            let writes = taken ?? writes()
            taken = writes
            return writes
        }
        return try untilKnown { isRepetition throws(StoreError) in
            var attempt = attempt
            attempt.isRepetition = attempt.isRepetition || isRepetition
            return try target.apply(take, group: group, seat: seat, epoch: epoch, attempt)
        }
    }

    package func apply(
        _ writes: [UploadWrite], group: CommitGroup, isRepetition: Bool
    ) throws(StoreError) -> [Result<UploadChange, StoreError>] {
        try untilKnown { again throws(StoreError) in
            try target.apply(writes, group: group, isRepetition: isRepetition || again)
        }
    }

    package func open(_ session: Session, shard: Int) throws(StoreError) {
        try untilKnown { _ throws(StoreError) in try target.open(session, shard: shard) }
    }

    package func close(seat: Int, epoch: Int64) throws(StoreError) {
        try untilKnown { _ throws(StoreError) in try target.close(seat: seat, epoch: epoch) }
    }

    package func remove(_ messages: [ShardMessage], shard: Int) throws(StoreError) {
        try untilKnown { _ throws(StoreError) in try target.remove(messages, shard: shard) }
    }

    package func record(types: Set<String>) throws(StoreError) {
        try untilKnown { _ throws(StoreError) in try target.record(types: types) }
    }

    package func seal(_ batch: CommandID) throws(StoreError) {
        try untilKnown { _ throws(StoreError) in try target.seal(batch) }
    }

    package func set(_ settings: [(key: String, value: String?)], timeout: Duration) throws(StoreError) {
        try untilKnown { _ throws(StoreError) in try target.set(settings, timeout: timeout) }
    }
}
