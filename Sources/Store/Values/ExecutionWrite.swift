package import Commands

/// One write of a worker. All but the claim are fenced by (id, claim, expected status).
package enum ExecutionWrite: Sendable, Equatable {
    /// Takes a ready command: `new` or `error`, due, no wish, deadline not passed.
    /// - Parameters:
    ///   - turn: its place in the shard, where the caller knows it: 0.8 of 16 µs less than a look-up of the id.
    ///   - sent: goes on to `sent` in the same commit, because its operation has nothing to prepare.
    case claim(CommandID, turn: Int64 = 0, sent: Bool)
    /// The first byte may leave once this is durable. Refused where a wish stands.
    case sent(CommandID, claim: Int)
    /// Progress: rides along; changes no status.
    case offset(CommandID, claim: Int, offset: Int64, total: Int64)
    /// What the next execution of the command is to find, whichever worker it is in; replaces what was kept before.
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
