package import Commands

/// What workers and the dispatcher are to do. Pacing and orders are all that stand, to be sent again; the others tell what was
/// looked at.
package struct NetworkDecisions: Sendable, Equatable {
    /// Of the links that were looked at.
    package var allowances: [LinkKey: LinkAllowance] = [:]
    package var pacing: [Pacing] = []
    /// They stand until the transfer is gone from its worker's reports.
    package var orders: [TransferOrder] = []
    /// Links whose level is another than in the last decisions.
    package var changed: [LinkKey] = []
    /// Links that are known no more.
    package var forgotten: [LinkKey] = []

    package init() {}
}

/// What a link lets run. The controller's limit binds middle and low QoS; what the server takes and what a person sets binds
/// every class.
package struct LinkAllowance: Sendable, Equatable {
    package var level: LinkLevel
    /// Transfers of middle and low QoS at once, in all workers together.
    package var limit: Int
    /// Of these, low ones at most.
    package var lowLimit: Int
    /// Requests of all classes at once that the server takes; nil while it has refused none.
    package var pushback: Int?
    /// Until the server has refused one: commands of high QoS at once, and as many of the others. It doubles in a round.
    package var slowStart = Int.max
    /// A person's limit of all classes; nil: none.
    package var maxConcurrency: Int?
    /// Qualities of service that begin nothing now.
    package var closed: Set<QualityOfService> = []
    /// The uplink above, and the limit that its links share; nil while it bounds none.
    package var uplink: LinkKey?
    package var uplinkLimit: Int?

    package init(level: LinkLevel, limit: Int, lowLimit: Int, closed: Set<QualityOfService> = []) {
        self.level = level
        self.limit = limit
        self.lowLimit = lowLimit
        self.closed = closed
    }
}

/// How fast a worker may send. What has no entry is not held back.
package struct Pacing: Sendable, Equatable {
    package var key: LinkKey
    package var qos: QualityOfService
    /// Bytes per second for each transfer; a worker gives those that it has so much together. 0: stop writing.
    package var bytesPerSecond: Int64
}

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
