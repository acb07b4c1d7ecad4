package import NetworkControl

extension Admission {
    /// The slot that a command takes when it starts.
    package enum Slot: Sendable, Equatable {
        /// One of the slots of its class.
        case ordinary
        /// One beyond all ordinary slots of its worker: for a destination that holds none, and for the floor.
        case extra
    }

    package enum Verdict: Sendable, Equatable {
        case admitted(Slot)
        case waits(AdmissionWait)
        /// A rate limit has no token, or as many of its commands run as may.
        case lacksToken(RateLimits.Name)
    }
}
