package import Commands

/// What workers and the dispatcher are to do, as it stands now: state to be sent again, never a change to it.
package struct NetworkDecisions: Sendable, Equatable {
    package var allowances: [LinkKey: LinkAllowance] = [:]
    package var pacing: [Pacing] = []
    /// They stand until the transfer is gone from its worker's reports.
    package var orders: [TransferOrder] = []
    /// Links whose level is another than in the last decisions.
    package var changed: [LinkKey] = []

    package init() {}
}

/// What may begin on a link. High quality takes no places; it is held back by `closed` alone.
package struct LinkAllowance: Sendable, Equatable {
    package var level: LinkLevel
    /// Transfers of middle and low quality at once, in all workers together.
    package var places: Int
    /// Of these, low ones at most.
    package var lowPlaces: Int
    /// So many more the link itself would bear, which high quality elsewhere or others' shares have; only who had one of
    /// them comes back to it.
    package var reserve = 0
    /// Low quality has no more than ``lowPlaces``, whoever comes back.
    private var holdsLowBack = false
    /// Qualities that begin nothing now.
    package var closed: Set<QualityOfService> = []

    init(level: LinkLevel, places: Int, lowPlaces: Int, closed: Set<QualityOfService> = []) {
        self.level = level
        self.places = places
        self.lowPlaces = lowPlaces
        self.closed = closed
    }

    /// Low quality has no more than so many, whoever comes back.
    mutating func limitLow(to most: Int) {
        lowPlaces = min(lowPlaces, most)
        holdsLowBack = true
    }

    /// Of a transfer that had a place, and whose connection broke.
    package enum Return: Sendable {
        /// Its place may be used, as far as the link bears it.
        case inTime
        /// It has waited as long as may be: its place is its own.
        case overdue
    }

    /// - Parameters:
    ///   - others: transfers of middle and low quality that are in hand.
    ///   - low: of these, low ones.
    ///   - comesBack: it had a place, and its connection broke.
    package func admits(_ qos: QualityOfService, others: Int, low: Int, comesBack: Return? = nil) -> Bool {
        guard !closed.contains(qos) else { return false }
        if qos.serviceClass == .high { return true }
        if qos.serviceClass == .low, low >= lowPlaces, holdsLowBack || comesBack == nil { return false }
        switch comesBack {
        case nil: return others < places
        case .inTime: return others < places + reserve
        case .overdue: return true
        }
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
