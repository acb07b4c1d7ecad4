internal import Store

extension SluiceClient {
    /// The transitions of commands after a position, from the store: none is missed or repeated, whichever processes run,
    /// and those that the store has no more are ``TransitionEvent/Change/gap(_:)``.
    ///
    /// ```swift
    /// for try await event in try client.events(since: position, matching: filter) {
    ///     switch event.change {
    ///     case .transition(let change): print("\(change.transition.id) is \(change.transition.status)")
    ///     case .gap(let gap): print("\(gap.numbers.count) transitions are gone")
    ///     }
    ///     position = event.position
    /// }
    /// ```
    /// Transitions of one shard, and so those of one command, come in the order of their commits; those of different
    /// shards mix.
    /// - Parameters:
    ///   - position: the position of the last event that was handled, ``newestPosition()``, or
    ///     ``TransitionPosition/start``.
    ///   - filter: leaves transitions out, but no gaps. The default admits all.
    /// - Throws: ``SluiceError``: `invalid` where the position is of a store with another number of shards.
    public func events(
        since position: TransitionPosition, matching filter: TransitionFilter = TransitionFilter()
    ) throws -> TransitionSequence {
        guard let position = position.filled(store.shardCount) else {
            throw SluiceError(
                .invalid,
                "the position “\(position)” is not one of this store, which has \(store.shardCount) shards; begin at "
                    + "newestPosition() or at TransitionPosition.start")
        }
        return TransitionSequence(client: self, position: position, filter: filter)
    }

    /// Behind the newest transition: events since it are those that are committed from now on.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func newestPosition() async throws -> TransitionPosition {
        try await read { queue in try TransitionReader(queue).newest() }
    }
}
