internal import Commands
internal import DequeModule

/// Commands that are claimed ahead and wait for a slot, in the order of their claims: a queue for each kind
/// of slot, and one for suspects, which start one at a time.
struct ClaimedQueues: Sendable {
    private(set) var high: Deque<CommandID> = []
    private(set) var others: Deque<CommandID> = []
    private(set) var extras: Deque<CommandID> = []
    private(set) var suspects: Deque<CommandID> = []

    enum Queue: Sendable { case high, others, extras, suspects }

    static func queue(of kind: SlotKind, isSuspect: Bool) -> Queue {
        if isSuspect { return .suspects }
        switch kind {
        case .high: return .high
        case .middle, .low: return .others
        case .extra: return .extras
        }
    }

    mutating func append(_ id: CommandID, to queue: Queue) { self[queue].append(id) }
    mutating func popFirst(_ queue: Queue) -> CommandID? { self[queue].popFirst() }
    mutating func remove(_ id: CommandID, from queue: Queue) { self[queue].removeAll { $0 == id } }

    private subscript(queue: Queue) -> Deque<CommandID> {
        get {
            switch queue {
            case .high: high
            case .others: others
            case .extras: extras
            case .suspects: suspects
            }
        }
        _modify {
            switch queue {
            case .high: yield &high
            case .others: yield &others
            case .extras: yield &extras
            case .suspects: yield &suspects
            }
        }
    }
}
