package import Commands

/// The changes of a command that a person requests. The actor of a change, such as `a person` or `token “studio”`, is
/// in the reason of its transition.
///
/// A change may have a condition: `newest` is the `seq` that the newest transition of the command must have in the
/// transaction of the change; nil: any.
package protocol RequestStore: ShardedStore {
    /// Cancels a waiting command at once; records a cancellation request for a claimed one.
    /// - Throws: `notFound`.
    func cancel(_ id: CommandID, ifNewest newest: Int64?, reason: String) throws(StoreError) -> CancelOutcome
    /// Cancels several commands of one shard in one transaction. Ids without a command are left out.
    func cancel(_ ids: [CommandID], shard: Int, reason: String) throws(StoreError) -> Effects
    /// Makes an ended or failed command run again, as a person asks. Resets retries, crashes, `notBefore`,
    /// the cancellation request and a passed deadline; keeps the offset. The command takes back a unique key
    /// that it gave up, unless the key's period has lapsed.
    /// - Returns: its effects; nil where the status or the condition does not allow it.
    /// - Throws: `conflict` where another command holds the key; `notFound`.
    func retry(_ id: CommandID, ifNewest newest: Int64?, by actor: String) throws(StoreError) -> Effects?
    /// Settles a command that is in doubt as `success`, `new` or `cancelled`.
    /// - Returns: its effects; nil where the command is not in doubt, or the condition does not hold.
    /// - Throws: `notFound`.
    func resolve(
        _ id: CommandID, ifNewest newest: Int64?, as status: CommandStatus, by actor: String
    ) throws(StoreError) -> Effects?
    /// Changes the quality of service of a command that has not ended.
    /// - Returns: false where there is no such command, or the condition does not hold.
    func requalify(_ id: CommandID, ifNewest newest: Int64?, qos: QualityOfService) throws(StoreError) -> Bool
}

extension RequestStore {
    /// As ``cancel(_:ifNewest:reason:)``, without a condition.
    package func cancel(_ id: CommandID, reason: String) throws(StoreError) -> CancelOutcome {
        try cancel(id, ifNewest: nil, reason: reason)
    }

    /// As ``retry(_:ifNewest:by:)``, without a condition.
    package func retry(_ id: CommandID, by actor: String) throws(StoreError) -> Effects? {
        try retry(id, ifNewest: nil, by: actor)
    }

    /// As ``resolve(_:ifNewest:as:by:)``, without a condition.
    package func resolve(_ id: CommandID, as status: CommandStatus, by actor: String) throws(StoreError) -> Effects? {
        try resolve(id, ifNewest: nil, as: status, by: actor)
    }

    /// As ``requalify(_:ifNewest:qos:)``, without a condition.
    package func requalify(_ id: CommandID, qos: QualityOfService) throws(StoreError) -> Bool {
        try requalify(id, ifNewest: nil, qos: qos)
    }

    /// As ``retry(_:by:)``, by a person at the command line.
    package func retry(_ id: CommandID) throws(StoreError) -> Effects? {
        try retry(id, by: Actor.person)
    }

    /// As ``resolve(_:as:by:)``, by a person at the command line.
    package func resolve(_ id: CommandID, as status: CommandStatus) throws(StoreError) -> Effects? {
        try resolve(id, as: status, by: Actor.person)
    }
}

extension CommandStore {
    /// Retries the members of a batch that have failed, which makes the batch wait for them again. A member that has another
    /// status by then, or whose unique key another command has taken since, stays as it is.
    /// - Parameter actor: as in ``RequestStore``.
    /// - Returns: the members that run again, and the effects of their retries.
    package func retryMembers(
        of batch: CommandID, by actor: String
    ) throws(StoreError) -> (count: Int, effects: Effects) {
        var filter = CommandFilter()
        filter.batch = batch
        filter.statuses = [.error, .tooManyTimes]
        var (count, effects) = (0, Effects())
        var after: CommandID?
        while true {
            let page = try page(filter, order: .oldestFirst, after: after, limit: 1000, until: nil)
            for member in page.commands {
                do throws(StoreError) {
                    guard let made = try retry(member.id, by: actor) else { continue }
                    effects.append(made)
                    count += 1
                } catch {
                    guard error.code == .conflict else { throw error }
                }
            }
            guard let next = page.next else { return (count, effects) }
            after = next
        }
    }
}

/// The result of a cancellation.
package enum CancelOutcome: Sendable, Equatable {
    /// The command is cancelled.
    case cancelled(Effects)
    /// A worker holds the command, and must be told of the request, which is durable; or the command is a flow, whose
    /// nodes end first.
    case requested(Effects)
    /// The command had ended before, in this status.
    case ended(CommandStatus)
    /// The newest transition of the command is not the one that the request expects. Nothing was changed.
    case outdated

    package var effects: Effects {
        switch self {
        case .cancelled(let effects), .requested(let effects): effects
        case .ended, .outdated: Effects()
        }
    }
}
