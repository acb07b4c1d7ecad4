package import Commands
package import Host

/// Decides whether low quality makes way for high on one link, and who is cut. Pure.
///
/// Not starting more low transfers is not enough: one that was running made a high one take 2.9 to 17 times as long as
/// alone. So when high quality becomes runnable on a saturated link, and sharing would cost it more than ``PreemptionRules``
/// tolerates, low quality stands still for a head start and has its percent afterwards. What a held-back transfer has in
/// the kernel's buffers and on its way still drains, about 40 kB with `TCP_NOTSENT_LOWAT` 16 KiB: nothing at 20 Mbit/s
/// (8 transfers: 1.1 times the time alone), but at 2 Mbit/s as long as the high transfer itself (2.0). There, and where
/// the level is poor, as many are cut with RST as it takes (1.2). Where a link loses more than half of what it carries while
/// high quality is active, the head start begins anew, and what can be resumed is cut.
///
/// Who is cut: lowest quality first, then least waste, then most to go. Spared: what would end within a second, what may not
/// run again, and of those that start over from 0 such as have sent more than the link carries in a second, have a tenth to
/// go, or were cut three times.
package struct PreemptionPlanner: Sendable {
    /// One link as it stands.
    package struct PreemptionInput: Sendable {
        /// Bytes per second; nil before anything was measured.
        package var capacity: Double?
        package var isSaturated = false
        package var level = LinkLevel.unknown
        package var highCount = 0
        /// Bytes that high quality has to go; nil where unknown.
        package var highRemaining: Int64?
        /// Bytes per second.
        package var highRate = 0.0
        package var lowRate = 0.0
        /// Transfers of middle and low quality.
        package var others: [TransferSample] = []

        package init() {}
    }

    package struct PreemptionDecision: Sendable, Equatable {
        /// The row `contended` of the policy is in force.
        package var isContended = false
        /// Low quality stands still.
        package var isHeadStart = false
        /// No new low transfers.
        package var isLowClosed = false
        package var cuts: [CommandID] = []

        package init() {}
    }

    /// Since when high quality has its way; nil: nobody is held back.
    package private(set) var since: MonotonicTime?
    /// The most that the link carried since then.
    private var maxCapacity = 0.0
    /// It has lost more than half of that, which began the head start anew.
    private var isNarrowed = false
    private var highSeen = MonotonicTime.zero
    private var quietUntil = MonotonicTime.zero
    /// Since when low quality has taken more than its percent.
    private var defiedSince: MonotonicTime?
    /// Has the floor of a link that is poor: once cut ones have stayed out for their time, one may run beside high quality.
    private var spared: CommandID?

    /// What a held-back transfer still sends, in bytes: 16 KiB of the socket and 24 kB on its way (from the delays measured).
    package static let backlog = 40_000.0
    /// A backlog is cut from this share of the high transfer's own time on.
    package static let drainShare = 0.2
    private static let unknownTime = 1.0
    private static let worthCutting = 1.0

    package init() {}

    /// - Parameters:
    ///   - mayCut: false within ``PreemptionRules/waveInterval`` of the last wave.
    ///   - standstill: the longest that a low transfer may stand still; half of it is how long cut ones stay out.
    ///   - restarts: how often a transfer was cut already.
    package mutating func plan(
        _ contest: PreemptionInput, rules: PreemptionRules, standstill: Duration, mayCut: Bool, now: MonotonicTime,
        restarts: (CommandID) -> Int
    ) -> PreemptionDecision {
        var plan = PreemptionDecision()
        if contest.highCount > 0 { highSeen = now }
        if since != nil, now - highSeen >= rules.idleAfter { since = nil }
        if since == nil {
            guard contest.highCount > 0, contest.isSaturated, isLosing(contest, rules) else { return plan }
            since = now
            quietUntil = now
            defiedSince = nil
            maxCapacity = 0
            isNarrowed = false
            spared = nil
        }
        if let capacity = contest.capacity {
            maxCapacity = max(maxCapacity, capacity)
            if contest.highCount > 0, capacity < maxCapacity / 2 {
                since = now
                maxCapacity = capacity
                isNarrowed = true
            }
        }
        let age = now - (since ?? now)
        plan.isContended = true
        plan.isHeadStart = age < rules.headStart
        if mayCut && contest.highCount > 0 {
            plan.cuts = cuts(contest, rules, isStart: plan.isHeadStart, now: now, restarts: restarts)
            if !plan.cuts.isEmpty { quietUntil = now + standstill / 2 }
        }
        plan.isLowClosed = plan.isHeadStart || now < quietUntil
        return plan
    }

    /// The high transfer's time if all shared evenly, less its time alone.
    func isLosing(_ contest: PreemptionInput, _ rules: PreemptionRules) -> Bool {
        guard !contest.others.isEmpty else { return false }
        guard let capacity = contest.capacity, let remaining = contest.highRemaining else { return true }
        let alone = Double(remaining) / max(capacity, 1)
        return alone * Double(contest.others.count) / Double(max(contest.highCount, 1)) > rules.tolerable.seconds
    }

    private mutating func cuts(
        _ contest: PreemptionInput, _ rules: PreemptionRules, isStart: Bool, now: MonotonicTime,
        restarts: (CommandID) -> Int
    ) -> [CommandID] {
        guard let capacity = contest.capacity.map({ max($0, 1) }) else { return [] }
        var low = contest.others.count { $0.qos.serviceClass == .low }
        let alone = contest.highRemaining.map { Double($0) / capacity } ?? Self.unknownTime
        let tolerated = max(rules.tolerable.seconds, Self.drainShare * alone)
        // Still in the way, though the pace was set a while ago.
        let isDefying = contest.highRate < 0.7 * capacity && contest.lowRate > 0.2 * capacity
        defiedSince = isDefying ? defiedSince ?? now : nil
        let isDefied = defiedSince.map { now - $0 >= rules.escalateAfter } ?? false
        var cuts: [CommandID] = []
        let victims = Self.victims(contest.others)
        if !victims.contains(where: { $0.id == spared }) {
            let haveStayedOut = quietUntil > since ?? now && now >= quietUntil
            spared = haveStayedOut ? victims.last?.id : nil
        }
        for victim in victims where victim.id != spared || contest.level != .poor {
            // What it has under way was meant for a wider link, and drains for long at its percent of this one.
            let isTooWide = isNarrowed && contest.level > .good && victim.isResumable
            let drain = Double(low) * Self.backlog / capacity
            guard contest.level == .poor || isDefied || isStart && (isTooWide || drain > tolerated) else { continue }
            let rest = victim.remaining.map { Double($0) * Double(contest.others.count) / capacity }
            if let rest, rest < Self.worthCutting { continue }
            if !victim.isResumable {
                let wasted = Double(victim.acknowledged)
                let isNearlyDone = victim.remaining.map { Double($0) * 9 <= wasted && wasted > 0 } ?? false
                if isNearlyDone || restarts(victim.id) >= rules.maxRestarts { continue }
                if contest.level != .poor && !isDefied && wasted > capacity * Self.worthCutting { continue }
            }
            cuts.append(victim.id)
            low -= 1
        }
        return cuts
    }

    /// Transfers of low quality that may be cut, in the order in which they are.
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
