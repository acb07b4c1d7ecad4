package import Commands

/// The rules of what the network allows, read from `sluice.yaml`. The defaults are in
/// `deploy/sluice.example.yaml`; ``validate()`` refuses contradictory values.
package struct NetworkPolicy: Sendable, Equatable {
    /// Also for `unknown`.
    package var good = PolicyRow(.run, .run, .run, .run, .run, limit: 64)
    package var degraded = PolicyRow(
        .run, .run, .run, .throttle(percent: 25), .throttle(percent: 10), limit: 4)
    package var poor = PolicyRow(.run, .run, .throttle(percent: 25), .preempt, .preempt, limit: 2)
    /// Running transfers are released, or cancelled where a verb says so.
    package var offline = PolicyRow(.preempt, .preempt, .preempt, .preempt, .preempt, limit: 0)
    /// At any level, while high quality is active and the link is saturated. Its limit is not used.
    package var contended = PolicyRow(
        .run, .run, .throttle(percent: 25), .throttle(percent: 10), .throttle(percent: 10), limit: 64)
    package var thresholds = LevelThresholds()
    package var preemption = PreemptionRules()
    /// Transfers of middle and low QoS at once over all links, and as many of high QoS.
    package var globalLimit = 64
    /// Percent of the link for a class that would not run otherwise.
    package var floorPercent = 5
    /// A wait of this time counts as one step of quality within a class of service.
    package var agingStep: Duration = .seconds(60)
    /// The longest that a low transfer stands still, and that a class waits behind higher ones before one of
    /// it runs.
    package var maxStandstill: Duration = .seconds(60)
    /// From the end of one probe of a destination to the next, while its circuit breaker is open.
    package var probeInterval: Duration = .seconds(60)
    /// Whether low quality yields to high. If not, the row ``contended`` is not used and no transfer is cut
    /// for another one; what a level allows still holds.
    package var preemptionIsOn = true
    /// A fixed number of transfers to each destination: no limit is measured, no level judged, no transfer
    /// preempted. For comparison; nil: as measured.
    package var fixedConcurrency: Int?
    package var destinations: [Destination: DestinationLimits] = [:]

    package init() {}

    package subscript(level: LinkLevel) -> PolicyRow {
        switch level {
        case .unknown, .good: good
        case .degraded: degraded
        case .poor: poor
        case .offline: offline
        }
    }
}

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

/// Minutes of the local day within which commands may begin; over midnight if the end is the smaller.
package struct AllowedHours: Sendable, Equatable {
    /// Minutes after midnight, 0 to 1439.
    package var from: Int
    /// The first minute after the allowed ones, 1 to 1440.
    package var to: Int

    package init(from: Int, to: Int) {
        self.from = from
        self.to = to
    }

    package func contains(minute: Int) -> Bool {
        from < to ? minute >= from && minute < to : minute >= from || minute < to
    }
}

extension AllowedHours {
    /// Reads `22:00-06:00`: local time, the end not included, over midnight if the end is the smaller. It is
    /// not validated here that the two differ.
    package init?(text: some StringProtocol) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Self.minute($0) }
        guard ends.count == 2, let from = ends[0], let to = ends[1], from < 1440 else { return nil }
        self.init(from: from, to: to == 0 ? 1440 : to)
    }

    /// `22:00 to 06:00`
    package var text: String { "\(Self.text(from)) to \(Self.text(to))" }

    /// `06:05`, of a minute of the day.
    package static func text(_ minute: Int) -> String {
        [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }

    private static func minute(_ text: some StringProtocol) -> Int? {
        let digits = text.utf8.map { Int($0) - 0x30 }
        guard digits.count == 5, digits[2] == 0x3A - 0x30, [0, 1, 3, 4].allSatisfy({ (0...9).contains(digits[$0]) })
        else { return nil }
        let (hour, minute) = (digits[0] * 10 + digits[1], digits[3] * 10 + digits[4])
        return minute < 60 && hour * 60 + minute <= 1440 ? hour * 60 + minute : nil
    }
}

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
