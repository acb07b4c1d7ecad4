package import Commands

/// An order to a worker to end a transfer.
package struct TransferOrder: Sendable, Equatable {
    package enum Verb: Sendable, Equatable {
        /// Reset the connection and release the command; nothing is charged.
        case cut
        /// End it in status 5.
        case cancel
    }

    /// Why a transfer is ended.
    package enum Cause: Sendable, Equatable {
        /// The policy at this level of a link.
        case level(LinkLevel, LinkKey)
        /// High quality needs the bandwidth of a link.
        case contention(LinkKey)
        /// High quality waits for a slot at the destination.
        case slotForHigh
        /// Middle quality has fewer than half of the slots.
        case slotsForMiddle
        /// Its destination has not answered yet, and others were never tried.
        case firstTry
    }

    package var id: CommandID
    package var verb: Verb
    package var cause: Cause
}
