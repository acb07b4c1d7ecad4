/// Where levels begin and end. Preemption is decided by the time that a transfer will take, not by these.
package struct LevelThresholds: Sendable, Equatable {
    /// Bytes per second below which a link is poor, whatever it carried before: 256 kbit/s.
    package var poorRate: Int64 = 32_000
    /// Bytes per second below which it is degraded: 2 Mbit/s.
    package var degradedRate: Int64 = 250_000
    /// Share of the reference below which it is degraded.
    package var degradedShare = 0.5
    /// Shares of transfers that fail for the link.
    package var degradedErrors = 0.2
    package var poorErrors = 0.5
    /// Share of transfers without progress for 2 s or 4 round trips.
    package var poorStalls = 0.5
    /// A link with this delay in queues is degraded if its goodput also fell by a fifth.
    package var degradedQueue: Duration = .milliseconds(400)
    /// Round trips from which a link that shows no goodput is degraded, and poor. Chromium calls 272 ms 3G,
    /// 1420 ms 2G.
    package var degradedRoundTrip: Duration = .milliseconds(672)
    package var poorRoundTrip: Duration = .milliseconds(1420)
    /// A level is left at this multiple of the threshold at which it is entered.
    package var leaveFactor = 1.3
    /// How long the evidence for a worse level must last, and that for a better one.
    package var enterAfter: Duration = .seconds(1)
    package var leaveAfter: Duration = .seconds(3)
    /// A level without evidence is forgotten after this time.
    package var unknownAfter: Duration = .seconds(60)

    package init() {}
}
