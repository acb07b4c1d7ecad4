package import Commands
internal import Host
package import Store
internal import Wire

/// The result of a person's request about one command.
package enum CommandChange: Sendable, Equatable {
    case cancelled
    /// A worker ends the command, or its nodes or members end first where it is a flow or a batch.
    case cancellationRequested
    case retried
    /// Of a batch: the number of its members that run again.
    case membersRetried(Int)
    case resolved
    case requalified
    case refused(Refusal)

    /// Why nothing was changed.
    package enum Refusal: Sendable, Equatable {
        case unknown
        /// Of a cancellation.
        case ended(CommandStatus)
        /// The newest transition is not the one that the request expects.
        case outdated
        /// The status does not allow the change, or the newest transition is not the one that the request expects.
        case notAllowed(CommandStatus)
        /// Of the retry of a batch.
        case noFailedMembers
    }
}

/// Changes of one command.
///
/// Each has a condition: `newest` is the `seq` that the newest transition of the command must have; nil, the default: any.
/// `actor` is the origin of the request, for the timeline.
extension QueueAccess {
    /// Cancels a command at once, or requests it from the worker that holds the command.
    package func cancel(
        _ id: CommandID, ifNewest newest: Int64? = nil, reason: String = "cancelled by \(Actor.person)"
    ) throws(StoreError) -> CommandChange {
        guard try store.command(id) != nil else { return .refused(.unknown) }
        switch try store.cancel(id, ifNewest: newest, reason: reason) {
        case .cancelled(let effects):
            send(effects, of: id)
            return .cancelled
        case .requested(let effects):
            hint(.cancelRequested, [id])
            send(effects, of: id)
            return .cancellationRequested
        case .ended(let status): return .refused(.ended(status))
        case .outdated: return .refused(.outdated)
        }
    }

    /// Runs a command again that waits for its backoff, was cancelled, or was given up. Of a batch, its failed members.
    /// - Throws: also `conflict` where another command holds its unique key now.
    package func retry(
        _ id: CommandID, ifNewest newest: Int64? = nil, by actor: String = Actor.person
    ) throws(StoreError) -> CommandChange {
        guard let command = try store.command(id) else { return .refused(.unknown) }
        if let effects = try store.retry(id, ifNewest: newest, by: actor) {
            send(effects, of: id)
            return .retried
        }
        guard command.type == CommandType.batch else { return try notAllowed(id) }
        let (count, effects) = try store.retryMembers(of: id, by: actor)
        guard count > 0 else { return .refused(.noFailedMembers) }
        send(effects, of: id)
        return .membersRetried(count)
    }

    /// Settles a command that is in doubt: `success` where it was delivered, `new` to run it again, or `cancelled`.
    package func resolve(
        _ id: CommandID, ifNewest newest: Int64? = nil, as status: CommandStatus, by actor: String = Actor.person
    ) throws(StoreError) -> CommandChange {
        guard try store.command(id) != nil else { return .refused(.unknown) }
        guard let effects = try store.resolve(id, ifNewest: newest, as: status, by: actor) else {
            return try notAllowed(id)
        }
        // A delivered file is not sent again, so its spooled copy can go.
        if status == .success, let payload = try store.payload(id) {
            Spool(directory: directory.spool).discard(stored: payload)
        }
        send(effects, of: id)
        return .resolved
    }

    /// Changes the quality of service of a command that has not ended. A running command keeps its slot; the new quality of
    /// service counts when it runs again.
    package func requalify(
        _ id: CommandID, ifNewest newest: Int64? = nil, to qos: QualityOfService
    ) throws(StoreError) -> CommandChange {
        guard try store.command(id) != nil else { return .refused(.unknown) }
        guard try store.requalify(id, ifNewest: newest, qos: qos) else { return try notAllowed(id) }
        hint(.changed, [id])
        return .requalified
    }

    private func notAllowed(_ id: CommandID) throws(StoreError) -> CommandChange {
        .refused(try store.command(id).map { .notAllowed($0.status) } ?? .unknown)
    }

    /// Tells the coordinator of a change, and of its effects on other commands.
    private func send(_ effects: Effects, of id: CommandID) {
        let (changed, requested) = effects.hints(without: id)
        hint(.changed, [id] + changed)
        if !requested.isEmpty { hint(.cancelRequested, requested) }
    }
}
