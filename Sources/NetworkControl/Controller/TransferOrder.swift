package import Commands

/// An order to a worker to end a transfer.
package struct TransferOrder: Sendable, Equatable {
    package enum Verb: Sendable, Equatable {
        /// Reset the connection and release the command; nothing is charged.
        case cut
        /// End it in status 5.
        case cancel
    }

    package var id: CommandID
    package var verb: Verb
    package var reason: String
}
