/// A time at which a schedule fires.
package struct ScheduledTime: Hashable, Sendable {
    /// The time by the expression, a whole second.
    package var nominal: Timestamp
    /// The nominal time with its jitter: the `notBefore` of the command.
    package var notBefore: Timestamp

    package init(nominal: Timestamp, notBefore: Timestamp) {
        self.nominal = nominal
        self.notBefore = notBefore
    }
}
