internal import Commands
internal import Host
package import NetworkControl
internal import Store

/// Decides whether a command may start: the only component that does. A worker starts every offered command
/// whose claim succeeds. Pure: the time and the allowances of links are passed in.
///
/// There are two kinds of bounds. The limits of the server and of people (`maxConcurrency`, pauses, hours)
/// bind every class, high QoS first. The capacity of the link (the controller's limit) binds middle and low
/// QoS only, because high QoS has slots and bandwidth of its own. An offline link admits only its probe,
/// whatever the class.
///
/// Fairness: while other destinations have ready work, none holds more than three quarters of the slots;
/// ``ReadyQueue`` offers each free slot to the destination that holds the fewest. Where all slots are taken,
/// a destination without any takes one of the few extra slots of each worker, so that its first command
/// starts at once.
package struct Admission: Sendable {
    /// The load of one destination, and its bounds.
    struct Load: Sendable, Equatable {
        var held = SlotCounts.Held()
        var availability = LinkAvailability.available
        var allowance = LinkAllowance(level: .unknown, limit: .max, lowLimit: .max)
        /// Middle and low commands in flight behind the same uplink.
        var heldByUplink = 0
        /// It has answered, and has not failed since.
        var isProven = true
        /// Its last attempt failed. Where this and ``isProven`` are false, it was never tried.
        var isFailing = false
        var isPaused = false
        /// Commands without a destination have no link.
        var isLinked = true
    }

    /// The slots of this host.
    struct Host: Sendable, Equatable {
        /// Ordinary slots of middle and low QoS in all workers together.
        var slots = 64
        /// With the offers that workers hold ahead of their slots, where operations are short.
        var window = 64
        /// Held by middle and low QoS, and by high QoS, for all destinations.
        var held = 0
        var heldHigh = 0
        /// Of middle and low QoS in flight to destinations with a link; and of high QoS.
        var linked = 0
        var linkedHigh = 0
        /// `network.maxTransfers`: of middle and low QoS together; and of high QoS.
        var maxTransfers = 64
        /// No worker has an ordinary slot free.
        var isFull = false
        /// Extra slots that are free in all workers, and the workers.
        var freeExtras = 8
        var workers = 2
        /// The budget of middle and low QoS lets a failing destination be tried, and one that was never tried.
        var mayProbe = true
        var mayTryNew = true
        /// The same of the budget of high QoS.
        var mayProbeHigh = true
        var mayTryNewHigh = true

        init() {}
    }

    /// A question to admission.
    struct Request: Sendable, Equatable {
        var qos: QualityOfService
        /// The floor of invariant 7: its class has waited too long behind others.
        var isFloor = false
        /// Other destinations have middle or low commands ready.
        var isContested = false
    }

    /// Extra slots of each worker, and those that it keeps for destinations which hold no slot at all. With
    /// two in all, the second to fourth command of one newcomer take what the next newcomer needs.
    package static let extraSlots = 4
    static let keptExtras = 2
    /// Extra slots of one destination.
    static let maxExtras = 4

    private(set) var counts = SlotCounts()
    private(set) var probes = ByProbeBudget(ProbeBudget())
    var failureWaits = LinkFailureWaits()
    private(set) var pauses = PauseTable()

    // MARK: The rules

    private static let probesWait = AdmissionWait(.probes, threshold: ProbeBudget.rate)

    static func verdict(_ request: Request, _ load: Load, _ host: Host) -> Verdict {
        let serviceClass = request.qos.serviceClass
        if load.isPaused { return .waits(AdmissionWait(.pause)) }
        switch load.availability {
        case .available: break
        case .heldOffline: return .waits(AdmissionWait(.heldOffline))
        case .outOfHours: return .waits(AdmissionWait(.hours))
        case .offline: return .waits(AdmissionWait(.offline))
        case .circuitBreaker: return .waits(AdmissionWait(.circuitBreaker))
        case .probe:
            guard serviceClass == .high ? host.mayProbeHigh : host.mayProbe else {
                return .waits(probesWait)
            }
            guard host.isFull, serviceClass != .high else { return .admitted(.ordinary) }
            return extra(load, host) ? .admitted(.extra) : .waits(AdmissionWait(.slots, host.held, of: host.slots))
        }
        if let wait = serverLimit(load) { return .waits(wait) }
        if serviceClass == .high { return high(load, host) }
        if !request.isFloor, let wait = linkLimit(request.qos, load) { return .waits(wait) }
        if !load.isProven {
            if load.isFailing, !host.mayProbe { return .waits(probesWait) }
            if !load.isFailing, !host.mayTryNew { return .waits(AdmissionWait(.untried)) }
        }
        if request.isFloor { return .admitted(host.isFull ? .extra : .ordinary) }
        if let wait = hostLimit(load, host) { return extra(load, host) ? .admitted(.extra) : .waits(wait) }
        let share = max((load.isLinked ? min(host.window, host.maxTransfers) : host.window) * 3 / 4, 1)
        if request.isContested, load.held.others >= share {
            return .waits(AdmissionWait(.fairShare, load.held.others, of: share))
        }
        return .admitted(.ordinary)
    }

    /// Binds every class.
    private static func serverLimit(_ load: Load) -> AdmissionWait? {
        if let limit = load.allowance.maxConcurrency, load.held.all >= limit {
            return AdmissionWait(.maxConcurrency, load.held.all, of: limit)
        }
        if let limit = load.allowance.pushback, load.held.all >= limit {
            return AdmissionWait(
                .pushback, load.held.all, of: limit, threshold: limit == 0 ? PushbackLimit.pause.seconds : nil)
        }
        return nil
    }

    /// High QoS has as many slots as `network.maxTransfers` says; beyond that each destination has one, so
    /// that a slow one which holds them all keeps no other waiting.
    private static func high(_ load: Load, _ host: Host) -> Verdict {
        if load.allowance.blocked.contains(.userInitiated), load.allowance.blocked.contains(.userInteractive) {
            return .waits(AdmissionWait(.level))
        }
        if !load.isProven {
            if load.isFailing, !host.mayProbeHigh { return .waits(probesWait) }
            if !load.isFailing, !host.mayTryNewHigh { return .waits(AdmissionWait(.untried)) }
        }
        if load.held.high >= load.allowance.slowStart {
            return .waits(AdmissionWait(.slowStart, load.held.high, of: load.allowance.slowStart))
        }
        if load.isLinked, host.linkedHigh >= host.maxTransfers, load.held.high > 0 {
            return .waits(AdmissionWait(.maxTransfers, host.linkedHigh, of: host.maxTransfers))
        }
        guard host.isFull else { return .admitted(.ordinary) }
        if load.held.all == 0, host.freeExtras > 0 { return .admitted(.extra) }
        return .waits(AdmissionWait(.slots, host.heldHigh, of: host.slots))
    }

    /// Binds middle and low QoS.
    private static func linkLimit(_ qos: QualityOfService, _ load: Load) -> AdmissionWait? {
        let allowance = load.allowance
        if allowance.blocked.contains(qos) { return AdmissionWait(.level) }
        if qos.serviceClass == .low, load.held.low >= allowance.lowLimit {
            return AdmissionWait(.linkLimit, load.held.low, of: allowance.lowLimit)
        }
        if load.held.others >= allowance.slowStart {
            return AdmissionWait(.slowStart, load.held.others, of: allowance.slowStart)
        }
        if load.held.others >= allowance.limit {
            return AdmissionWait(.linkLimit, load.held.others, of: allowance.limit)
        }
        if let limit = allowance.uplinkLimit, load.heldByUplink >= limit {
            return AdmissionWait(.uplinkLimit, load.heldByUplink, of: limit)
        }
        return nil
    }

    /// All ordinary slots that middle and low QoS may have are taken.
    private static func hostLimit(_ load: Load, _ host: Host) -> AdmissionWait? {
        if host.isFull { return AdmissionWait(.slots, host.held, of: host.slots) }
        guard load.isLinked, host.linked >= host.maxTransfers else { return nil }
        return AdmissionWait(.maxTransfers, host.linked, of: host.maxTransfers)
    }

    /// An extra slot is free for the destination.
    private static func extra(_ load: Load, _ host: Host) -> Bool {
        if load.held.all == 0 { return host.freeExtras > 0 }
        return load.held.ordinary == 0 && load.held.extra < maxExtras
            && host.freeExtras > keptExtras * host.workers
    }

    // MARK: In flight

    /// A command takes a slot as the verdict said.
    mutating func began(_ grant: Grant, now: MonotonicTime) {
        counts.count(grant.destination, grant.serviceClass, isExtra: grant.isExtra, by: 1)
        if let isFailing = grant.probe { probes[isHigh: grant.isHigh].began(isFailing: isFailing, now: now) }
    }

    /// The command leaves its slot.
    mutating func ended(_ grant: Grant, isAnswered: Bool, now: MonotonicTime) {
        counts.count(grant.destination, grant.serviceClass, isExtra: grant.isExtra, by: -1)
        endProbe(grant, isAnswered: isAnswered, now: now)
    }

    /// A probe has ended, or has shown that it is not one any more.
    mutating func endProbe(_ grant: Grant, isAnswered: Bool, now: MonotonicTime) {
        guard let wasFailing = grant.probe else { return }
        probes[isHigh: grant.isHigh].ended(wasFailing: wasFailing, isAnswered: isAnswered, now: now)
    }

    mutating func setPauses(_ pauses: [Pause]) {
        self.pauses = PauseTable(pauses)
    }

    /// The slot of a command in flight, and its part of the budget for probes.
    struct Grant: Sendable {
        var destination: Destination
        var serviceClass: ServiceClass
        var isExtra = false
        /// A rate limit holds for it.
        var isPaced = false
        /// It is a probe; true where the destination was failing.
        var probe: Bool?

        var isHigh: Bool { serviceClass == .high }
    }
}

extension Admission {
    /// Fills in the slots in flight, and whether the budget lets a probe go.
    func fill(_ host: inout Host, now: MonotonicTime) {
        host.held = counts.total.others
        host.heldHigh = counts.total.high
        host.linked = counts.linked.others
        host.linkedHigh = counts.linked.high
        let (high, others) = (probes[isHigh: true], probes[isHigh: false])
        host.mayProbe = others.admits(isFailing: true, slots: host.slots, now: now)
        host.mayTryNew = others.admits(isFailing: false, slots: host.slots, now: now)
        host.mayProbeHigh = high.admits(isFailing: true, slots: host.slots, now: now)
        host.mayTryNewHigh = high.admits(isFailing: false, slots: host.slots, now: now)
    }

    /// The bounds for commands of one destination and quality of service.
    func load(_ key: ReadyKey, _ links: borrowing LinkAdmission, now: MonotonicTime) -> Load {
        guard key.destination != .none else {
            var load = Load()
            load.isLinked = false
            load.held = counts[.none]
            load.isPaused = pauses.covers(key.destination, key.qos)
            return load
        }
        var load = links.load(key.destination, key.qos, now: now)
        load.held = counts[key.destination]
        load.isPaused = pauses.covers(key.destination, key.qos)
        if load.allowance.uplinkLimit != nil, let uplink = load.allowance.uplink {
            load.heldByUplink = counts.destinations.reduce(0) {
                $0 + (links.uplink(of: $1.key) == uplink ? $1.value.others : 0)
            }
        }
        return load
    }
}

extension AdmissionWait {
    /// The rule binds every class.
    var isServerLimit: Bool { rule == .maxConcurrency || rule == .pushback }
}

extension Admission {
    /// The slot that a command takes when it starts.
    package enum Slot: Sendable, Equatable {
        /// One of the slots of its class.
        case ordinary
        /// One beyond all ordinary slots of its worker: for a destination that holds none, and for the floor.
        case extra
    }

    package enum Verdict: Sendable, Equatable {
        case admitted(Slot)
        case waits(AdmissionWait)
        /// A rate limit has no token, or as many of its commands run as may.
        case lacksToken(RateLimits.Name)
    }
}

/// The destinations and qualities of service that people have paused. Pure.
struct PauseTable: Sendable, Equatable {
    private var everywhere: UInt8 = 0
    private var byDestination: [Destination: UInt8] = [:]

    init() {}

    init(_ pauses: [Pause]) {
        for pause in pauses {
            if let destination = pause.destination {
                byDestination[destination, default: 0] |= pause.qualityBits
            } else {
                everywhere |= pause.qualityBits
            }
        }
    }

    func covers(_ destination: Destination, _ qos: QualityOfService) -> Bool {
        let bit = UInt8(1) << UInt8(qos.rawValue)
        if everywhere & bit != 0 { return true }
        return !byDestination.isEmpty && byDestination[destination, default: 0] & bit != 0
    }
}
