package import Commands

/// The setting of a person by `sluice network set`. The store has it, so it survives a restart.
package struct LinkOverride: Sendable, Equatable {
    /// Nothing is sent there until a person sets `auto`.
    package var isOffline = false
    /// Bytes per second; overrides the policy's.
    package var maxRate: Int64?
    /// Starts of commands in a time; overrides the policy's.
    package var starts: StartRate?
    /// Of ``starts``.
    package var burst: Int?

    package init(isOffline: Bool = false, maxRate: Int64? = nil) {
        self.isOffline = isOffline
        self.maxRate = maxRate
    }
}
