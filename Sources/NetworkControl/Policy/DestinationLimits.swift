package import Commands

/// The limits that the configuration sets for one destination.
package struct DestinationLimits: Sendable, Equatable {
    /// Transfers of all classes at once, high QoS first; nil: as measured.
    package var maxConcurrency: Int?
    /// Bytes per second of all transfers together; nil: no limit.
    package var maxRate: Int64?
    /// When `background` may begin; nil: always.
    package var backgroundHours: AllowedHours?
    /// Commands of all classes that may start in a time; nil: no limit. Retries count.
    package var starts: StartRate?
    /// Starts in one moment, 1…``StartRate/maxBurst``; nil: ``StartRate/defaultBurst``.
    package var burst: Int?

    package init(
        maxConcurrency: Int? = nil, maxRate: Int64? = nil, backgroundHours: AllowedHours? = nil,
        starts: StartRate? = nil, burst: Int? = nil
    ) {
        self.maxConcurrency = maxConcurrency
        self.maxRate = maxRate
        self.backgroundHours = backgroundHours
        self.starts = starts
        self.burst = burst
    }
}
