/// When low quality yields to high quality, and how far.
package struct PreemptionRules: Sendable, Equatable {
    /// The time that high quality may lose by sharing before low quality is held back.
    package var tolerable: Duration = .milliseconds(250)
    /// How long low quality stands still when high quality begins; then it has its percent. A pause with
    /// small kernel buffers cost 1.1 times the time alone at 20 Mbit/s, a throttle to 10 % 1.2 (measured).
    package var headStart: Duration = .seconds(2)
    /// Throttled transfers that take more than a fifth of the link for this time are cut.
    package var escalateAfter: Duration = .seconds(2)
    /// High quality is over when no such transfer was there for this time.
    package var idleAfter: Duration = .seconds(1)
    /// From one wave of cuts to the next.
    package var waveInterval: Duration = .seconds(5)
    /// How often a transfer that starts over from 0 may be cut.
    package var maxRestarts = 3

    package init() {}
}
