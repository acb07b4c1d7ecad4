/// When low quality makes way for high, and how hard.
package struct PreemptionRules: Sendable, Equatable {
    /// What high quality may lose by sharing before anybody is held back.
    package var tolerable: Duration = .milliseconds(250)
    /// Low quality stands still for so long when high quality begins; then it has its percent. A pause with small kernel
    /// buffers cost 1.1 times the time alone at 20 Mbit/s, a throttle to 10 % 1.2 (measured).
    package var headStart: Duration = .seconds(2)
    /// Throttled transfers that take more than a fifth of the link for so long are cut.
    package var escalateAfter: Duration = .seconds(2)
    /// High quality is over when none was there for so long.
    package var idleAfter: Duration = .seconds(1)
    /// One wave of cuts in so long.
    package var waveInterval: Duration = .seconds(5)
    /// A transfer that starts over from 0 is cut so often at most.
    package var maxRestarts = 3

    package init() {}
}
