/// What a person set with `sluice network set`; kept by the store, so it survives a restart.
package struct LinkOverride: Sendable, Equatable {
    /// Nothing goes there until a person says `auto`.
    package var isOffline = false
    /// Bytes per second; goes before the policy's.
    package var maxRate: Int64?

    package init(isOffline: Bool = false, maxRate: Int64? = nil) {
        self.isOffline = isOffline
        self.maxRate = maxRate
    }
}
