package import Commands

/// A message from a command of one shard to a command of another.
///
/// A transaction writes messages into the outbox of its shard (the outbox pattern). The coordinator carries each over:
/// ``QueueStore/receive(_:shard:)``, and after that commit ``QueueStore/remove(_:shard:)``. A message that is carried
/// twice changes nothing the second time.
package struct ShardMessage: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        /// The sender waits for the end of the receiver.
        /// - Parameters:
        ///   - qos: the sender's quality of service, which the receiver gets where its own is lower. Release 0.1.0 does not
        ///     write it.
        ///   - isRepeated: the question of a ``ShardDebt``. A receiver that is unknown was lost by a restore then.
        case awaits(wantsResult: Bool, qos: QualityOfService? = nil, isRepeated: Bool = false)
        /// The sender has ended, and the receiver waits for it.
        case ended(RemoteEnd)
        /// The members of a batch in a shard have ended. The sender is the part of that shard (``CommandID/part(in:)``).
        /// Negative numbers take back failures that were told before: these members are retried. Release 0.1.0 drops such a
        /// message, so that its batches keep their end.
        case partEnded(members: Int, failed: Int)
        /// The sender is a batch whose members in the shard of the receiver are to be cancelled.
        case cancelPart
        /// The sender is a batch that an urgent command waits for. Its members in the shard of the receiver get this quality of
        /// service where their own is lower.
        case raisePart(QualityOfService)
    }

    /// In the outbox of its shard.
    package var number: Int64 = 0
    package var receiver: CommandID
    package var sender: CommandID
    package var content: Content
}

/// The end of a command, as its dependants in other shards see it.
package struct RemoteEnd: Sendable, Equatable {
    /// Nil where the command has been removed.
    package var status: CommandStatus?
    /// Its failure counts as a success.
    package var mayFail = false
    /// It was cancelled because the end that it handles did not come.
    package var isUnneeded = false
    package var reason: String?
    /// Of a success, for a dependant that refers to it.
    package var result: [UInt8]?

    /// The end of a parent that a restore has lost.
    static let lostByRestore = RemoteEnd(status: nil, reason: "its parent is not in the restored shard")

    var outcome: ParentOutcome {
        switch status {
        case .success: .success
        default: isUnneeded ? .notNeeded : .failed(mayFail: mayFail)
        }
    }
}
