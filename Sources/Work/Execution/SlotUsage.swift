internal import Commands
internal import Wire

/// How many slots the commands of a worker take, kept in step with their states.
struct SlotUsage: Sendable, Equatable {
    /// Numbers by kind: slots of high quality, of the others, and extra ones.
    struct ByKind: Sendable, Equatable {
        private(set) var high = 0
        private(set) var others = 0
        private(set) var extras = 0

        var all: Int { high + others + extras }

        fileprivate mutating func add(_ step: Int, to kind: SlotKind) {
            switch kind {
            case .high: high += step
            case .middle, .low: others += step
            case .extra: extras += step
            }
        }
    }

    /// Claimed or executing.
    private(set) var held = ByKind()
    private(set) var executing = ByKind()
    /// Ended, and not committed.
    private(set) var ending = 0
    /// Suspects that have not ended: each may still kill the worker.
    private(set) var suspects = 0
    private(set) var executingSuspects = 0

    mutating func add(_ step: Int, _ use: ExecutionState.SlotUse, _ kind: SlotKind, isSuspect: Bool) {
        switch use {
        case .claimed: held.add(step, to: kind)
        case .executing:
            held.add(step, to: kind)
            executing.add(step, to: kind)
            if isSuspect { executingSuspects += step }
        case .ending:
            ending += step
            return
        }
        if isSuspect { suspects += step }
    }
}

/// Which slots a command may take.
enum SlotKind: Int, CaseIterable, Sendable {
    case high
    case middle
    case low
    /// A slot beyond those of its class.
    case extra

    init(_ offer: Offers.Offer) {
        if offer.isExtra {
            self = .extra
        } else {
            switch offer.qos.serviceClass {
            case .high: self = .high
            case .middle: self = .middle
            case .low: self = .low
            }
        }
    }
}
