internal import Commands

/// The commands that one batch of pruning deleted.
package struct PruneResult: Sendable, Equatable {
    /// The number of commands.
    package var count = 0
    /// Payloads of the commands that did not end in success. Spooled files that they name have no other
    /// owner.
    package var abandoned: [[UInt8]] = []

    /// The number of commands that stay until ``CommandStore/cleanUp(shard:limit:_:)`` has taken care of
    /// their remains.
    package var held = 0
    /// The next search begins behind the start of this one, or finds other commands.
    package var hasMoved = false

    /// The search has found nothing more.
    package var isEnd: Bool { count == 0 && !hasMoved }

    package init() {}
}
