package import Commands

/// One write of a worker. Every write but the claim is fenced by (id, claim, expected status).
package enum ExecutionWrite: Sendable, Equatable {
    /// Takes a ready command: `new` or `error`, due, without a cancellation request, before its deadline.
    /// - Parameters:
    ///   - turn: the row in the shard, 0 where the caller does not know it. It saves 0.8 of 16 µs, the
    ///     look-up of the id.
    ///   - sent: continues to `sent` in the same commit, because the operation has nothing to prepare.
    case claim(CommandID, turn: Int64 = 0, sent: Bool)
    /// The first byte may leave once this is durable. Refused where there is a cancellation request.
    case sent(CommandID, claim: Int)
    /// Progress. It shares the next commit and changes no status.
    case offset(CommandID, claim: Int, offset: Int64, total: Int64)
    /// A checkpoint for the next execution of the command, in whichever worker; replaces the one before.
    case saveCheckpoint(CommandID, claim: Int, state: [UInt8])
    case end(CommandID, claim: Int, ExecutionResult)

    package var id: CommandID {
        switch self {
        case .claim(let id, _, _), .sent(let id, _), .offset(let id, _, _, _), .saveCheckpoint(let id, _, _),
            .end(let id, _, _):
            id
        }
    }
}
