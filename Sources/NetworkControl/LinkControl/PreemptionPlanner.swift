package import Commands
package import Host

/// Decides whether low quality yields to high quality on one link, and which transfers are cut. Pure.
///
/// To start no more low transfers is not enough: one that was running made a high one take 2.9 to 17 times as
/// long as alone. So when high quality becomes runnable on a saturated link, and sharing would cost it more
/// than ``PreemptionRules`` tolerate, low quality stands still for a head start and has its percent
/// afterwards.
///
/// The bytes of a held-back transfer that are in the kernel's buffers and in flight still drain, about 40 kB
/// with `TCP_NOTSENT_LOWAT` 16 KiB. At 20 Mbit/s that is nothing (8 transfers: 1.1 times the time alone). At
/// 2 Mbit/s it lasts as long as the high transfer itself (2.0). There, and where the level is poor, as many
/// transfers as necessary are cut with RST (1.2). When a link loses more than half of its capacity while high
/// quality is active, the head start begins anew, and transfers that can be resumed are cut.
///
/// Order of the cuts: the lowest quality first, then the least waste, then the most bytes to go. A transfer
/// is not cut if it would end within a second or may not run again. One that starts over from 0 is not cut
/// either if it has sent more than the link carries in a second, has a tenth to go, or was cut three times.
package struct PreemptionPlanner: Sendable {
    /// Since when high quality is preferred; nil while no transfer is held back.
    package private(set) var since: MonotonicTime?
    /// The highest capacity of the link since then.
    private var maxCapacity = 0.0
    /// The link has lost more than half of that, so the head start began anew.
    private var isNarrowed = false
    private var highSeenAt = MonotonicTime.zero
    private var quietUntil = MonotonicTime.zero
    /// Since when low quality has taken more than its percent.
    private var excessSince: MonotonicTime?
    /// The transfer that has the floor of a poor link: one may run beside high quality once those that were
    /// cut have stayed out for their time.
    private var spared: CommandID?

    /// Bytes that a held-back transfer still sends: 16 KiB of the socket and 24 kB in flight (from the delays
    /// measured).
    package static let backlog = 40_000.0
    /// A backlog is cut if it drains for longer than this share of the high transfer's time alone.
    package static let drainShare = 0.2
    /// Seconds that a high transfer of unknown size takes.
    private static let unknownTime = 1.0
    /// Seconds that a transfer must still take to be worth cutting, and may have taken to be cheap to repeat.
    private static let worthCutting = 1.0

    package init() {}

    /// - Parameters:
    ///   - maxStandstill: the longest that a low transfer may stand still; cut transfers stay out for half of
    ///     it.
    ///   - mayCut: false within ``PreemptionRules/waveInterval`` of the last wave.
    ///   - restarts: how often a transfer was cut already.
    package mutating func decide(
        _ input: PreemptionInput, rules: PreemptionRules, maxStandstill: Duration, mayCut: Bool, now: MonotonicTime,
        restarts: (CommandID) -> Int
    ) -> PreemptionDecision {
        var decision = PreemptionDecision()
        if input.highCount > 0 { highSeenAt = now }
        if since != nil, now - highSeenAt >= rules.idleAfter { since = nil }
        if since == nil {
            guard input.highCount > 0, input.isSaturated, isLosing(input, rules) else { return decision }
            since = now
            quietUntil = now
            excessSince = nil
            maxCapacity = 0
            isNarrowed = false
            spared = nil
        }
        if let capacity = input.capacity {
            maxCapacity = max(maxCapacity, capacity)
            if input.highCount > 0, capacity < maxCapacity / 2 {
                since = now
                maxCapacity = capacity
                isNarrowed = true
            }
        }
        let age = now - (since ?? now)
        decision.isContended = true
        decision.isHeadStart = age < rules.headStart
        if mayCut && input.highCount > 0 {
            decision.cuts = cuts(input, rules, isStart: decision.isHeadStart, now: now, restarts: restarts)
            if !decision.cuts.isEmpty { quietUntil = now + maxStandstill / 2 }
        }
        decision.isLowBlocked = decision.isHeadStart || now < quietUntil
        return decision
    }

    /// Whether an even share would cost the high transfers more time than the rules tolerate.
    func isLosing(_ input: PreemptionInput, _ rules: PreemptionRules) -> Bool {
        guard !input.others.isEmpty else { return false }
        guard let capacity = input.capacity, let remaining = input.highRemaining else { return true }
        let alone = Double(remaining) / max(capacity, 1)
        return alone * Double(input.others.count) / Double(max(input.highCount, 1)) > rules.tolerable.seconds
    }

    private mutating func cuts(
        _ input: PreemptionInput, _ rules: PreemptionRules, isStart: Bool, now: MonotonicTime,
        restarts: (CommandID) -> Int
    ) -> [CommandID] {
        guard let capacity = input.capacity.map({ max($0, 1) }) else { return [] }
        var low = input.others.count { $0.qos.serviceClass == .low }
        let alone = input.highRemaining.map { Double($0) / capacity } ?? Self.unknownTime
        let tolerated = max(rules.tolerable.seconds, Self.drainShare * alone)
        // Low quality still takes more than its percent, although its pace was set a while ago.
        let isExceeding = input.highRate < 0.7 * capacity && input.lowRate > 0.2 * capacity
        excessSince = isExceeding ? excessSince ?? now : nil
        let hasExceeded = excessSince.map { now - $0 >= rules.escalateAfter } ?? false
        var cuts: [CommandID] = []
        let victims = Self.victims(input.others)
        if !victims.contains(where: { $0.id == spared }) {
            let haveStayedOut = quietUntil > since ?? now && now >= quietUntil
            spared = haveStayedOut ? victims.last?.id : nil
        }
        for victim in victims where victim.id != spared || input.level != .poor {
            // Its bytes in flight were meant for a wider link, and drain for long at its percent of this one.
            let isTooWide = isNarrowed && input.level > .good && victim.isResumable
            let drain = Double(low) * Self.backlog / capacity
            guard input.level == .poor || hasExceeded || isStart && (isTooWide || drain > tolerated) else { continue }
            let rest = victim.remaining.map { Double($0) * Double(input.others.count) / capacity }
            if let rest, rest < Self.worthCutting { continue }
            if !victim.isResumable {
                let wasted = Double(victim.acknowledged)
                let isNearlyDone = victim.remaining.map { Double($0) * 9 <= wasted && wasted > 0 } ?? false
                if isNearlyDone || restarts(victim.id) >= rules.maxRestarts { continue }
                if input.level != .poor && !hasExceeded && wasted > capacity * Self.worthCutting { continue }
            }
            cuts.append(victim.id)
            low -= 1
        }
        return cuts
    }

    /// Transfers of low quality that may be cut, in the order of the cuts.
    package static func victims(_ transfers: [TransferSample]) -> [TransferSample] {
        transfers.filter { $0.qos.serviceClass == .low && $0.isIdempotent }
            .sorted {
                if $0.qos != $1.qos { return $0.qos < $1.qos }
                if $0.waste != $1.waste { return $0.waste < $1.waste }
                let (left, right) = ($0.remaining ?? .max, $1.remaining ?? .max)
                return left == right ? $0.id < $1.id : left > right
            }
    }
}

/// A link as ``PreemptionPlanner`` sees it.
package struct PreemptionInput: Sendable {
    /// Bytes per second; nil before anything was measured.
    package var capacity: Double?
    package var isSaturated = false
    package var level = LinkLevel.unknown
    package var highCount = 0
    /// Bytes that high quality has still to send; nil where unknown.
    package var highRemaining: Int64?
    /// Bytes per second of high and of low quality.
    package var highRate = 0.0
    package var lowRate = 0.0
    /// Transfers of middle and low quality.
    package var others: [TransferSample] = []

    package init() {}
}

/// A decision of ``PreemptionPlanner`` about the transfers of a link.
package struct PreemptionDecision: Sendable, Equatable {
    /// The row `contended` of the policy is in force.
    package var isContended = false
    /// Transfers of low quality stand still.
    package var isHeadStart = false
    /// No new transfers of low quality.
    package var isLowBlocked = false
    /// Transfers to cut.
    package var cuts: [CommandID] = []

    package init() {}
}
