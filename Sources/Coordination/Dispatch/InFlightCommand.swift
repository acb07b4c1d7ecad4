internal import Commands
internal import Host

/// A command that a worker was offered or executes.
struct InFlightCommand: Sendable {
    var seat: Int
    var grant: Admission.Grant
    /// Of a crash of its worker.
    var suspect: Bool
    /// Nil once a worker has claimed it.
    var offeredAt: MonotonicTime?
    /// When it was offered.
    var since: MonotonicTime
    /// Its destination was never tried when it was offered.
    var isFirstTry = false
    /// The name of its rate limit.
    var limit: String?
    /// The limits that gave a token for this offer. Empty once the offer is claimed.
    var tokens: [RateLimits.Name] = []

    var group: ReadyQueue.Group {
        ReadyQueue.Group(destination: grant.destination, serviceClass: grant.serviceClass)
    }
}
